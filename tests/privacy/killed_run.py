"""A run that kills itself at a chosen point; at point 0 it runs to its end.

Every private step passes through a few functions; each call of one of them is a point, before and
after it. What was drawn goes, unbuffered, to LEDGER.drawn before anybody else sees it, so that the
test knows of draws that died.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

import dprap.privacy.ledger.chain as chain
from dprap.accounting import Budget, Neighbors
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.privacy import Curator, Ledger
from dprap.privacy.verbs import certify, measure, select
from dprap.queries import Marginal, Query
from dprap.sources import MemorySource

DOMAIN = Domain.of({"a": 2, "b": 3})
A, AB = Marginal(("a",)), Marginal(("a", "b"))
SHARES = (0.125, 0.125, 0.0625, 0.1875)


class Points:
    """Counts the points passed and dies at the chosen one."""

    def __init__(self, fatal: int) -> None:
        self.fatal, self.passed, self.armed = fatal, 0, False

    def around(self, function):
        def wrapped(*arguments, **named):
            self.reach()
            result = function(*arguments, **named)
            self.reach()
            return result

        return wrapped

    def reach(self) -> None:
        if self.armed:
            self.passed += 1
            if self.passed == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)


def install(points: Points, drawn: Path) -> None:
    """Put points around the disk operations and around each draw."""
    chain.os = _Os(points)
    for verb in ("charge", "store", "adopt"):
        setattr(Ledger, verb, points.around(getattr(Ledger, verb)))
    samplers = (
        (measure, "add_discrete_gaussian"),
        (certify, "add_discrete_gaussian"),
        (select, "pick_top"),
    )
    for module, sampler in samplers:
        honest = getattr(module, sampler)

        def logged(*arguments, honest=honest, **named):
            result = honest(*arguments, **named)
            with drawn.open("a") as file:
                file.write(json.dumps(np.asarray(result).tolist()) + "\n")
            return result

        setattr(module, sampler, points.around(logged))


class _Os:
    """The module `os` with points around fsync."""

    def __init__(self, points: Points) -> None:
        self.fsync = points.around(os.fsync)

    def __getattr__(self, name):
        return getattr(os, name)


def steps(curator: Curator) -> list:
    """Four verbs; the third depends on what the second returned."""
    (first,) = curator.measure([A], SHARES[0])
    second = curator.select_queries([AB], [np.full(6, first.counts.mean() / 3)], k=2, rho=SHARES[1])
    third = curator.measure_queries([Query(AB, query.index) for query in second], SHARES[2])
    fourth = curator.certify([A], [first.counts.astype(float)], rho=SHARES[3])
    return [
        first.counts.tolist(),
        [query.index for query in second],
        [measured.count for measured in third],
        fourth.noisy_max_error_counts,
    ]


def main(path: Path, fatal: int) -> None:
    points = Points(fatal)
    install(points, path.with_name(path.name + ".drawn"))
    rows = np.random.default_rng(0).integers(0, 6, 200)
    source = MemorySource(Codes.of(DOMAIN, {"a": rows // 3, "b": rows % 3}))
    with Ledger(path, neighbors=Neighbors()) as ledger:
        curator = Curator(
            source,
            budget=Budget.of_rho(0.5, delta=1e-6),
            neighbors=Neighbors(),
            ledger=ledger,
            run="run",
        )
        points.armed = True
        results = steps(curator)
        points.armed = False
        curator.finish()
    print(json.dumps({"points": points.passed, "results": results}))


def serve() -> None:
    """Run one job a line of standard input, each in a forked child, so that the imports are paid
    for once.
    """
    for line in sys.stdin:
        path, fatal = json.loads(line)
        child = os.fork()
        if child == 0:
            main(Path(path), fatal)
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    serve()
