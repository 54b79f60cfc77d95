"""Errors of a release over its own workload. NOT PRIVATE."""

from __future__ import annotations

from dprap.evaluate.errors import Errors, evaluate
from dprap.release.release import Release
from dprap.sources import CountSource


def evaluate_release(release: Release, source: CountSource) -> dict[str, Errors]:
    """Errors of the fitted data ("relaxed") and of records drawn from it ("synthetic"), or of "answers" alone. NOT PRIVATE."""
    if release.relaxed is None:
        return {"answers": evaluate(source, release.workload, release.workload_shares or ())}
    return {
        "relaxed": evaluate(source, release.workload, release.relaxed),
        "synthetic": evaluate(source, release.workload, release.codes()),
    }
