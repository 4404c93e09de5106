# One image for web, worker and beat, and one more an engine; docker-compose.yml says which a container is.
FROM python:3.11-slim-bookworm

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 ASSAY_HOME=/var/lib/assay
WORKDIR /srv/assay

# Dependencies first: they change less often than the code. EXTRAS=torch brings the torch engine.
ARG EXTRAS=torch
COPY pyproject.toml constraints.txt README.md ./
RUN mkdir -p platform/assay experiments runners migrations \
    && touch platform/assay/__init__.py experiments/__init__.py runners/__init__.py migrations/__init__.py \
    && pip install -c constraints.txt -e ".[${EXTRAS}]"

COPY manage.py ./
COPY platform platform
COPY experiments experiments
COPY runners runners
COPY migrations migrations
COPY frontend frontend

RUN useradd --system --create-home assay \
    && install -d -o assay -g assay /var/lib/assay /var/lib/assay/engines
USER assay

# ENGINE=vllm==0.32.0 makes an image with that engine's own environment, from the lock that is shipped.
ARG ENGINE=
ARG VARIANT=cpu
RUN if [ -n "$ENGINE" ]; then assay engines install "$ENGINE" --variant "$VARIANT"; fi
VOLUME /var/lib/assay
ENTRYPOINT ["assay"]
CMD ["help"]
