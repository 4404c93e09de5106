"""Memory of several devices is no uniform memory: what lies on another one comes over a link, at its price.

Source: chapter 3.5.3.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.laws import transfer_time_s
from assay.analysis.perfmodel.parallel.layout import refused
from assay.analysis.perfmodel.parallel.messages import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledMemory:
    """A device's own memory and what it may reach on others over ``link``."""

    local_bytes: int
    local_bytes_per_s: float
    remote_bytes: int
    link: Link | None

    def read_s(self, size: int) -> float:
        """Time to read ``size`` bytes once: the local part at memory speed, the rest over the link.

        Refused where a remote part has no link: the sum of a rack's memories is no address space without
        cost.
        """
        if size > self.local_bytes + self.remote_bytes:
            raise refused(
                "memory",
                f"{size} B",
                f"at most {self.local_bytes} B here and {self.remote_bytes} B elsewhere",
                "It does not fit: split the model or the state.",
            )
        remote = max(0, size - self.local_bytes)
        local_s = (size - remote) / self.local_bytes_per_s
        if not remote:
            return local_s
        if self.link is None:
            raise refused(
                "memory",
                f"{remote} B on other devices, no link",
                "a link with its fixed time and bandwidth",
                "Summed memory of a rack is not one memory: say over what it is reached.",
            )
        cost = {"message_bytes": remote, "link_bytes_per_s": self.link.bytes_per_s}
        return local_s + transfer_time_s(alpha_s=self.link.alpha_s, **cost)
