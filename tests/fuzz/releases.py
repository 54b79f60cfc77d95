"""Inputs that are release directories: a valid one with damage in one or two of its files."""

from __future__ import annotations

import functools
import io
import json
import random
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from tests.fuzz.mutate import HOSTILE_NUMBERS, mutated, mutated_bytes, mutated_text
from tests.release.made import made_release

from dprap.release import load
from dprap.release.answer_question import ask
from dprap.release.measurements import SCHEMA
from dprap.release.statistics_answers import answer
from dprap.report.guarantee_texts import language
from dprap.report.page import page
from dprap.statement.about import About
from dprap.statement.papers import statement_of, write_statement

ABOUT = {
    "title": "Stays", "curator": "The hospital", "curator_type": "Nonprofit", "intended_use": "Research", "region": "Norway",
    "sector": "Healthcare", "author": "A. Author", "contact": "a@example.org", "license": "CC-BY-4.0", "url": "https://example.org",
}  # fmt: skip


@functools.cache
def saved(*, relaxed: bool) -> Path:
    """A valid release, written once."""
    folder = Path(tempfile.mkdtemp(prefix="dprap-fuzz-")) / "out"
    made_release(relaxed=relaxed).save(folder)
    return folder


def release(rng: random.Random, folder: Path) -> None:
    """A release; one that is read is asked, drawn from and reported."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(saved(relaxed=rng.random() < 0.7), out)
    for path in rng.sample(sorted(out.iterdir()), rng.choice([1, 1, 2])):
        damage(path, rng)
    found = load(out)
    for question in ("age in 3..8 and sex = F", "hired is null"):
        ask(found, question, by=["smoker"]).lines()
    answer(found, "mean age by sex where smoker = true").lines()
    if found.relaxed is not None and rng.random() < 0.2:
        found.table(5, format="arrow")
    if rng.random() < 0.05:
        page(found, directory="out", truth=None, texts=language("en"))


def statement(rng: random.Random, folder: Path) -> None:
    """What a steward states of a release, and the papers made of it and of a damaged release."""
    about = folder / "about.yaml"
    text = yaml.safe_dump(mutated(ABOUT, rng) if rng.random() < 0.6 else ABOUT)
    about.write_text(
        mutated_text(text, rng) if rng.random() < 0.3 else text, encoding="utf-8", errors="replace"
    )
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(saved(relaxed=True), out)
    if rng.random() < 0.4:
        damage(out / "release.json", rng)
    found, stated = load(out), About.load(about)
    json.dumps(statement_of(found, stated, language=rng.choice(["en", "de", "fr", "es", "xx"])))
    shutil.rmtree(folder / "papers", ignore_errors=True)
    write_statement(found, folder / "papers", stated)


def damage(path: Path, rng: random.Random) -> None:
    """Damage one file of a release."""
    kind = rng.randrange(10)
    if kind == 0:
        path.unlink()
    elif kind < 3:
        path.write_bytes(mutated_bytes(path.read_bytes(), rng))
    elif path.name == "release.json":
        data = json.loads(path.read_text())
        path.write_text(json.dumps(mutated(data, rng), default=str))
    elif path.name == "schema.yaml":
        data = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump(mutated(data, rng)), encoding="utf-8", errors="replace")
    elif path.suffix == ".npz":
        path.write_bytes(_archive(path, rng))
    elif path.name == "measurements.parquet":
        _measurements(path, rng)


def _archive(path: Path, rng: random.Random) -> bytes:
    with np.load(path) as found:
        arrays: dict[str, Any] = dict(found)
    name = rng.choice(list(arrays))
    array = arrays[name].copy()
    kind = rng.randrange(6)
    if kind == 0:
        array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -1.0, 1e30, 0.0])
    elif kind == 1:
        array = array.astype(rng.choice(["f8", "f2", "i8", "c8", "S4", ">f4", "?"]))
    elif kind == 2:
        array = rng.choice(
            [
                array.T,
                array[:1],
                array[..., None],
                array.ravel(),
                array[:0],
                np.asarray(0.5),
                np.asfortranarray(array),
            ]
        )
    elif kind == 3:
        arrays[rng.choice(["7", "weights.npy", "../x", ""])] = arrays.pop(name)
    elif kind == 4:
        return _forged(rng, name)
    if name in arrays:
        arrays[name] = array
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def _forged(rng: random.Random, name: str) -> bytes:
    """An archive whose header announces more than there is."""
    shape = rng.choice([(10**12,), (10**6, 10**6), (-1, 4), (2**62, 2**62), (0, 10**12), (4,), ()])
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.npy", header.getvalue() + bytes(rng.choice([0, 16, 10**6])))
    return stream.getvalue()


def _measurements(path: Path, rng: random.Random) -> None:
    rows = pq.read_table(path).to_pylist()
    row = rng.choice(rows)
    column = rng.choice(SCHEMA.names)
    if column == "family":
        family = mutated(json.loads(row["family"]), rng)
        row["family"] = rng.choice([None, "", "[" * 5000, json.dumps(family, default=str)])
    elif column == "query":
        row["query"] = rng.choice([None, -1, 0, 2**62, 1000])
    elif column == "counts":
        row["counts"] = rng.choice(
            [
                None,
                [],
                [None],
                [1.0] * 7,
                [float("nan")] * len(row["counts"]),
                [1e300] * len(row["counts"]),
            ]
        )
    else:
        row[column] = rng.choice(
            [
                None,
                *(float(n) for n in HOSTILE_NUMBERS if abs(n) < 1e300 or n != n or n in (1e308,)),
            ]
        )
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)
