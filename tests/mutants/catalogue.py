"""The list of mutants: defects put back on purpose, each with the tests that must notice it.

The lists stand beside this module, one file for each part of the promise. An entry has a name, a
file, the exact text that is replaced and what takes its place, and the tests that must fail then.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent


@dataclass(frozen=True)
class Mutant:
    """One defect.

    Args:
        part: The part of the promise that it breaks.
        name: What it does, in a few words.
        file: The file that it changes, below the root of the repository.
        old: What stands there, exactly once.
        new: What takes its place.
        tests: Tests of which at least one must fail.
    """

    part: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def of(self, text: str) -> str:
        """The text of the file with the defect in it."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} has {text.count(self.old)} such places")
        return text.replace(self.old, self.new)


def read_mutants() -> list[Mutant]:
    """All mutants, part by part."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in content["mutant"]:
            tests = tuple(entry.pop("tests"))
            found.append(Mutant(part=content["part"], tests=tests, **entry))
    return found
