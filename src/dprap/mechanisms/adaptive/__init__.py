"""The default mechanism: adaptive whole-marginal projection."""

from dprap.mechanisms.adaptive.mechanism import run
from dprap.mechanisms.adaptive.outline import outline
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.mechanisms.protocol import Mechanism

__all__ = ["MECHANISM", "AdaptiveSettings", "outline", "run"]

MECHANISM = Mechanism(
    run,
    outline,
    AdaptiveSettings,
    "whole marginals, the worst-answered first; for most uses the best",
    takes_public=True,
)
