"""Query families from code that the steward names: `module:name`.

A custom function is part of the audited perimeter, so its code runs only where the steward asks for
it: `--queries MODULE:NAME` loads families, and `--queries MODULE` allows a workload file to name
families of that module. Nothing else makes dprap import a module; a workload file alone does not.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dprap.errors import DprapError, WorkloadError, meant
from dprap.queries import Custom, Family
from dprap.queries.custom import NamedCustom
from dprap.queries.plain import KINDS
from dprap.schema import Schema
from dprap.workload import Workload


@dataclass(frozen=True)
class NamedCode:
    """What `--queries` names, separated by commas: families to load, and modules that a workload
    file may name.
    """

    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str | None) -> NamedCode:
        """The names in a text.

        >>> sorted(NamedCode.of("mine:parity, mine:halfspaces, more").modules)
        ['mine', 'more']

        """
        return cls(tuple(part.strip() for part in (text or "").split(",") if part.strip()))

    @property
    def modules(self) -> frozenset[str]:
        """The modules whose code may run."""
        return frozenset(name.partition(":")[0] for name in self.names)

    def families(self, schema: Schema) -> list[Family]:
        """The families that are named, in their order."""
        return [family for name in self.names if ":" in name for family in self.load(name, schema)]

    def load(self, name: str, schema: Schema) -> list[Family]:
        """The families that `module:name` stands for: one, several, or what a function of the
        schema returns.

        Raises:
            WorkloadError: The module may not run, cannot be imported, or holds no query families of
                that name.
        """
        module, _, attribute = name.partition(":")
        if module not in self.modules:
            raise WorkloadError(
                f"{name} is code, which runs only if you name its module: add --queries {module} if"
                " you trust it."
            )
        found = _attribute(module, attribute)
        if callable(found):
            try:
                found = found(schema)
            except DprapError:
                raise
            except Exception as error:
                raise WorkloadError(
                    f"{name} fails on the schema ({type(error).__name__}: {str(error)[:200]})."
                ) from error
        families = list(found) if isinstance(found, Iterable) else [found]
        wrong = [type(family).__name__ for family in families if type(family) not in KINDS]
        if wrong or not families:
            raise WorkloadError(
                f"{name} must be a query family, a list of them, or a function of the schema that"
                f" returns them; it has {wrong[0] if wrong else 'none'}."
            )
        return families


def _attribute(module: str, attribute: str) -> Any:
    try:
        with _folder_of_work():
            found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise WorkloadError(
            f"there is no module {error.name!r} to load queries from. Install it, or run dprap in"
            " the folder that has it."
        ) from None
    except Exception as error:
        raise WorkloadError(
            f"module {module} cannot be imported ({type(error).__name__}: {str(error)[:200]})."
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            functions = [name for name in dir(found) if callable(getattr(found, name, None))]
            own = [name for name in functions if not name.startswith("_")]
            raise WorkloadError(
                f"module {module} has no {attribute!r}. {meant(part, own, 'It has')}"
            )
        found = getattr(found, part)
    return found


@contextmanager
def _folder_of_work() -> Iterator[None]:
    """Find modules of the present folder too, after all others, so that none of them takes the
    place of another.
    """
    folder = str(Path.cwd())
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def with_functions(workload: Workload, code: NamedCode, schema: Schema) -> Workload:
    """The workload of a release that was read back, with the functions of its custom queries.

    Args:
        workload: The workload, in which custom queries are names.
        code: What `queries` names.
        schema: The schema of the release.

    Raises:
        WorkloadError: A custom query has no code, or the code of its name has other columns or
            another number of queries.
    """
    given = {family.name: family for family in code.families(schema) if isinstance(family, Custom)}

    def known(family: Family) -> Family:
        if not isinstance(family, NamedCustom):
            return family
        found = given.get(family.name)
        if found is None:
            raise WorkloadError(
                f"a release does not store the function of its custom query {family.name!r}. Name"
                " its code by queries (--queries MODULE:NAME)."
            )
        sizes = found.size(schema.domain), family.queries
        if found.columns != family.columns or sizes[0] != sizes[1]:
            raise WorkloadError(
                f"custom query {family.name!r} of the release has {sizes[1]} queries over"
                f" {', '.join(family.columns)}; its code has {sizes[0]} over"
                f" {', '.join(found.columns)}. Name the code that the release was made with."
            )
        return found

    return replace(workload, families=tuple(known(family) for family in workload.families))


def digest_of_functions(workload: Workload) -> str | None:
    """A digest of the tables of all custom functions, by which a resumed run knows them; None
    without any.

    Functions with too many cells for a table are known by their names alone.
    """
    digest = hashlib.sha256()
    custom = [family for family in workload.families if isinstance(family, Custom)]
    for family in custom:
        digest.update(repr((family.name, family.columns)).encode())
        if family.is_table(workload.domain):
            digest.update(family.table(workload.domain).tobytes())
    return digest.hexdigest() if custom else None
