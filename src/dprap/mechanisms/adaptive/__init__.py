"""The default mechanism: adaptive whole-marginal projection."""

from dprap.mechanisms.adaptive.mechanism import run
from dprap.mechanisms.adaptive.outline import outline
from dprap.mechanisms.adaptive.settings import AdaptiveSettings

__all__ = ["AdaptiveSettings", "outline", "run"]
