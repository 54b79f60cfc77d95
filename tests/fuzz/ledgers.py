"""Inputs that are ledgers: a valid one with damage, in its bytes or in records that were sealed
anew.
"""

from __future__ import annotations

import functools
import hashlib
import json
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.mutate import mutated, mutated_bytes

from dprap.accounting import Budget, Neighbors, Relation
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.privacy import Curator, Ledger, read_ledger
from dprap.queries import Marginal
from dprap.sources import MemorySource


@functools.cache
def saved() -> Path:
    """A ledger with two runs, one of them done."""
    path = Path(tempfile.mkdtemp(prefix="dprap-fuzz-")) / "ledger.jsonl"
    domain = Domain.of({"a": 2, "b": 3})
    codes = Codes(domain, (np.array([0, 1, 1], np.uint8), np.array([0, 1, 2], np.uint8)))
    neighbors = Neighbors(Relation.REPLACE)
    budget = Budget.of(epsilon=1.0, delta=1e-6)
    with Ledger(path, neighbors=neighbors, cap_rho=10.0) as ledger:
        for name in ("first", "second"):
            curator = Curator(
                MemorySource(codes), budget=budget, neighbors=neighbors, ledger=ledger, run=name
            )
            curator.measure([Marginal(("a",))], 0.001)
    return path


def ledger(rng: random.Random, folder: Path) -> None:
    """A ledger that is verified and opened."""
    shutil.rmtree(folder / "books", ignore_errors=True)
    shutil.copytree(saved().parent, folder / "books")
    path = folder / "books" / "ledger.jsonl"
    for _ in range(rng.choice([1, 1, 2])):
        _damage(path, rng)
    read_ledger(path)
    with Ledger(path, neighbors=Neighbors(Relation.REPLACE)):
        pass


def _damage(path: Path, rng: random.Random) -> None:
    kind = rng.randrange(6)
    if kind == 0:
        victim = rng.choice(sorted(each for each in path.parent.rglob("*") if each.is_file()))
        victim.write_bytes(mutated_bytes(victim.read_bytes(), rng))
    elif kind == 1:
        victim = rng.choice(sorted(path.parent.rglob("*")))
        shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
    elif path.is_file():
        _forge(path, rng)


def _forge(path: Path, rng: random.Random) -> None:
    """Change records and compute every seal and the head anew, as somebody would who knows the
    form.
    """
    try:
        records: list[Any] = [
            json.loads(line) for line in path.read_text(errors="replace").splitlines()
        ]
    except ValueError:
        return
    if not records or not all(isinstance(record, dict) for record in records):
        return
    at = rng.randrange(len(records))
    if rng.random() < 0.8:
        records[at]["body"] = mutated(records[at].get("body"), rng)
    else:
        records[at]["kind"] = rng.choice(
            ["open", "run", "charge", "result", "done", "x", None, [], 5]
        )
    if rng.random() < 0.2:
        records.insert(rng.randrange(len(records)), dict(rng.choice(records)))
    previous = "0" * 64
    lines = []
    try:
        for number, record in enumerate(records):
            record |= {"index": number, "previous": previous}
            sealed = {key: value for key, value in record.items() if key != "hash"}
            record["hash"] = previous = hashlib.sha256(_canonical(sealed)).hexdigest()
            lines.append(_canonical(record))
    except (TypeError, ValueError):  # what JSON cannot hold
        return
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    path.with_name(f"{path.name}.head").write_text(f"{len(records)} {previous}\n")


def _canonical(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode()
