"""The runner's side of the sampler: it is started, told what to look at, and asked for its account."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from runners.evidence import pipes
from runners.evidence.sampler import SamplerConfig

_ROOT = Path(__file__).resolve().parents[2]


class SamplerProcess:
    """Started once, and stopped once."""

    def __init__(self, config: SamplerConfig, path: Path) -> None:
        self._config = config
        self._path = path
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._config.write(self._path)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "runners.evidence.sampler", str(self._path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
            start_new_session=True,  # an interrupt from the terminal is for the runner alone
        )

    async def tell(self, **command: Any) -> None:
        if self._process is not None:
            await pipes.say(self._process, json.dumps(command).encode() + b"\n")

    async def stop(self, *, patience_s: float = 10.0) -> dict[str, Any] | None:
        """Its reports and missed turns; None if it died or had to be killed."""
        process, self._process = self._process, None
        if process is None:
            return None
        pipes.hang_up(process)
        try:
            output, _ = await asyncio.wait_for(process.communicate(), patience_s)
            account = json.loads(output)
        except TimeoutError:
            process.kill()
            await process.wait()
            return None
        except ValueError:
            return None
        return dict(account)
