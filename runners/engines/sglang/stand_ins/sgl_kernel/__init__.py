"""An empty stand-in: sgl_kernel has no CPU build on the package index. Layers take their plain torch path."""

import sys

sys.stderr.write(
    "assay: sgl_kernel is an empty stand-in; this is not a supported configuration of SGLang\n"
)
