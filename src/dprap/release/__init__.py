"""What a run publishes, in memory and on disk."""

from dprap.release.files import ReleaseError, load
from dprap.release.release import Release, RunFacts
from dprap.release.statement import PrivacyStatement

__all__ = ["PrivacyStatement", "Release", "ReleaseError", "RunFacts", "load"]
