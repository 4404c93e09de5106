"""Which browser tests go to one process: those of one parameter, which is a page or an installation.

(The group marks of pytest-xdist 3.8 do nothing under pytest 9.2: they set a field that it no longer reads.)
"""

from xdist.scheduler import LoadScopeScheduling


class OneParameterOneProcess(LoadScopeScheduling):
    """A page is visited once for all that is asked of it, a team's laboratory is made once."""

    def _split_scope(self, nodeid: str) -> str:
        test, bracket, parameter = nodeid.partition("[")
        return parameter if bracket else test
