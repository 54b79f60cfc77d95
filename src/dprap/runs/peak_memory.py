"""How much memory this process has held."""

from __future__ import annotations

import resource
import sys


def peak_memory_mb() -> float:
    """The most memory this process has held.

    It depends on the exact data: for the steward, never for a release.
    """
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # bytes there, kilobytes elsewhere
    return held / (1 << 20 if sys.platform == "darwin" else 1 << 10)
