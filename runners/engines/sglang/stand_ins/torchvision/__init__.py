"""An empty stand-in: no build of torchvision fits torch's CPU build here, and text models need none of it."""

import sys

sys.stderr.write(
    "assay: torchvision is an empty stand-in; this is not a supported configuration of SGLang\n"
)
