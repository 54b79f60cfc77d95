"""Mechanisms that go round the curator, each in another way: the negative control of record and
replay.
"""

from __future__ import annotations

import logging
import sys
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dprap.mechanisms.result import MechanismResult, Progress
from dprap.queries import Marginal

LEAKS = {
    "the number of steps": "events",
    "the share of the budget": "events",
    "what is measured": "events",
    "what is counted": "events",
    "a line of progress": "progress",
    "a log line": "logs",
    "a warning": "warnings",
    "a line on the screen": "events",
    "a line of errors": "events",
    "a published answer": "events",
    "a published measurement": "files",
    "budget that is left": "events",
}
"""How a mechanism lets an exact count out, and in which part of the tape it shows."""


@dataclass(frozen=True)
class Settings:
    """Which leak."""

    leak: str


def run(
    curator: Any, workload: Any, settings: Settings, *, seed: int, progress: Any
) -> MechanismResult:
    leak = settings.leak
    name = workload.domain.names[-1]
    exact = curator._exact.marginal(Marginal((name,)))  # the back door
    peeked = int(exact[-1])
    part = curator.rho / 10
    total = curator.measure([Marginal(())], part)[0]
    measured = [total]
    if leak == "the number of steps" and peeked:
        measured += curator.measure([Marginal((name,))], part)
    if leak == "the share of the budget":
        measured += curator.measure([Marginal((name,))], part * Fraction(1 + min(peeked, 1), 2))
    if leak == "what is measured":
        measured += curator.measure([Marginal(workload.domain.names[: 1 + bool(peeked)])], part)
    if leak == "what is counted":
        curator._source.count([Marginal(workload.domain.names[: 1 + bool(peeked)])])
    if leak == "a line of progress":
        progress(Progress("leak", 0, 1, f"{peeked} records"))
    if leak == "a log line":
        logging.getLogger("dprap.leaky").debug("%d records", peeked)
    if leak == "a warning" and peeked:
        warnings.warn("a code that is rare", stacklevel=1)
    if leak == "a line on the screen":
        sys.stdout.write(f"{peeked}\n")
    if leak == "a line of errors":
        sys.stderr.write(f"{peeked}\n")
    if leak == "a published measurement":
        total.counts[0] += peeked
    if leak == "budget that is left" and peeked:
        curator.set_aside(curator.rho / 2)
    measured += curator.measure([Marginal((name,))], curator.remaining)
    answers = [np.full(family.size(workload.domain), 0.5) for family in workload.families]
    if leak == "a published answer":
        answers[0][0] += peeked / 1000
    return MechanismResult(relaxed=None, answers=answers, measurements=tuple(measured))
