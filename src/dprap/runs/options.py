"""Everything a user may say about a run, besides the table, the schema and the output folder.

Each option is declared once, as a field of `RunOptions` with its default, kind, flag and
explanation. The command line makes its flags of the fields, Python the parameters of `synthesize`,
and a job file keeps their values. This module imports nothing heavy, because `dprap --help` reads
it.

Messages name options as the command line writes them; `dprap.runs.python_messages` turns them
into the words of Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dprap.errors import SettingsError
from dprap.mechanisms import DEFAULT_METHOD
from dprap.runs.option_values import About, Names, absolute, checked, relative

if TYPE_CHECKING:
    from dprap.accounting import Neighbors
    from dprap.workload import Workload

# The plain form of options in a job file. A change of their names or meanings is another version.
# A new option says the version it came with (`since`), and older files mean its default.
VERSION = 2

_REQUIRED: Any = object()
_UNSAID: Any = object()
"""What stands in an option that nobody gave, until a preset or its default takes the place."""


def _option(kind: Any, explanation: str, default: Any = None, **more: Any) -> Any:
    """A field; `flag` is its name with hyphens unless given."""
    metadata = {"about": (kind, explanation, more), "default": default}
    return (
        field(metadata=metadata)
        if default is _REQUIRED
        else field(default=_UNSAID, metadata=metadata)
    )


@dataclass(frozen=True)
class RunOptions:
    """What a user says about a run. Values are checked when the object is made.

    >>> RunOptions(epsilon=1.0, kway=2).method
    'adaptive'
    """

    epsilon: float = _option(
        float, "Privacy budget ε: smaller protects more.", _REQUIRED, short="-e"
    )
    delta: float | None = _option(
        float, "δ; default 1/n², must be given with add-remove neighbours."
    )
    neighbors: Neighbors | str = _option(
        str,
        "replace (n public) or add-remove (n private).",
        "replace",
        choices=("replace", "add-remove"),
    )
    max_rows_per_person: int = _option(
        int, "Most records one person has; needs --person-column if above 1.", 1
    )
    engine: str | None = _option(
        str,
        "memory, files, duckdb, postgres or spark (default: what fits the table).",
        choices=("memory", "files", "duckdb", "postgres", "spark"),
        planned=False,
    )
    database_table: str | None = _option(
        str,
        "Table of a postgresql:// address or a .duckdb file: schema.table.",
        flag="--table",
        planned=False,
    )
    person_column: str | None = _option(
        str,
        "Column with person ids, outside the schema; never published.",
        planned=False,
    )
    excess: str = _option(
        str,
        "Records beyond --max-rows-per-person: error, or drop (add-remove only).",
        "error",
        choices=("error", "drop"),
        planned=False,
    )
    accounting: str = _option(
        str,
        "exact, tight (the best that zCDP gives) or paper (the paper's formula).",
        "exact",
        choices=("exact", "tight", "paper"),
    )
    discover: str | Sequence[str] | None = _option(
        str,
        "Column whose categories or bounds nobody knows publicly: found and paid for first. Several"
        " times for several.",
        metavar="COLUMN",
        repeatable=True,
        since=2,
    )
    discover_share: float = _option(float, "Share of ρ for finding them, in all.", 0.05, since=2)
    kway: int | None = _option(int, "Answer all k-way marginals that fit (default 3).")
    marginals: int | None = _option(int, "Only this many of the k-way marginals, drawn at random.")
    workload_seed: int = _option(int, "Seed of the draw of --marginals.", 0)
    workload: Workload | Path | str | None = _option(
        Path, "A YAML or JSON list of marginals, instead of all k-way marginals.", also=object
    )
    queries: str | None = _option(
        str,
        "Query families from your own code: MODULE:NAME, several with commas. MODULE alone lets the"
        " workload file name code of it. The code runs beside the private table.",
        metavar="MODULE:NAME",
        since=2,
    )
    target: Sequence[str] | str | None = _option(
        Names,
        "Column that models will be trained to predict; may be repeated. Its relations count more"
        " (adaptive).",
        metavar="COLUMN",
        since=2,
    )
    max_cells: int | None = _option(int, "Largest marginal, in cells (default n).", least=1)
    method: str = _option(
        str,
        "adaptive, rap, rap++, gaussian, independent, or one of an installed package.",
        DEFAULT_METHOD,
    )
    preset: str | None = _option(
        str,
        "paper: the method rap with the paper's own settings and accounting, and no certificate.",
        choices=("paper",),
        since=2,
    )
    settings: Mapping[str, Any] | None = _option(
        Mapping, "Settings of the method by name, where they differ from its defaults.", flag=None
    )
    certificate_share: float = _option(
        float, "Share of ρ for the accuracy certificate.", 0.02, flag="--certificate"
    )
    intervals: str = _option(
        str,
        "yes or no: find out how far answers may be off, in about as much time as the run takes.",
        "yes",
        choices=("yes", "no"),
        since=2,
        planned=False,
    )
    public: Any = _option(
        Path,
        "A table that everybody may see, to start from (adaptive): same schema, CSV or Parquet. Not"
        " protected.",
        also=object,
    )
    rows: int | None = _option(
        int,
        "Rows of the synthetic table (default: as many as the private table has records).",
        least=1,
        planned=False,
    )
    table_format: str = _option(
        str,
        "Format of the saved table: parquet or csv.",
        "parquet",
        flag="--format",
        choices=("parquet", "csv"),
        planned=False,
    )
    seed: int = _option(
        int,
        "Seed of public randomness: initialisation and rounding. Never of noise.",
        0,
        planned=False,
    )
    ledger: Path | str | Literal[False] | None = _option(
        Path,
        "Ledger to charge (default the table's own, TABLE.dprap/ledger.jsonl).",
        metavar="FILE",
        also=bool,
        planned=False,
    )
    # A run that began was checked, so that a job file need not keep it.
    check: bool = _option(
        bool,
        "Stop before spending where a policy would null or clip over 1% of a column's values.",
        default=True,
        kept=False,
        planned=False,
    )
    # A cap and an anchor are for opening a ledger, which keeps its own. A job file that named an
    # anchor's command would let whoever edits it run one.
    ledger_cap_rho: float | Fraction | None = _option(
        float,
        "Cap of a new ledger, as ρ, over all runs against it.",
        flag="--ledger-cap",
        metavar="RHO",
        kept=False,
        planned=False,
    )
    anchor: Path | str | None = _option(
        str,
        "Outside memory of the ledger's last line: FILE, or command:PROGRAM.",
        also=Path,
        kept=False,
        planned=False,
    )
    run: str | None = _option(
        str,
        "Name of the run: the same call goes on where it stopped and spends nothing twice.",
        flag=None,
        planned=False,
    )
    insecure_noise_seed: int | None = _option(
        int,
        "For tests and benchmarks alone: reproducible noise that protects nobody.",
        kept=False,
        planned=False,
    )

    def __post_init__(self) -> None:
        self._fill()
        self._take_neighbors()
        if isinstance(self.discover, list | tuple) and all(
            isinstance(name, str) for name in self.discover
        ):
            object.__setattr__(self, "discover", ",".join(self.discover) or None)
        for name, about in ABOUT.items():
            object.__setattr__(
                self, name, checked(name, about, getattr(self, name), DEFAULTS.get(name, _REQUIRED))
            )
        self._check_preset()
        if isinstance(self.ledger, bool) and self.ledger:
            raise SettingsError("--ledger must be a path, or in Python also False for none.")
        asks_for_ledger = (
            bool(self.ledger) or self.ledger_cap_rho is not None or self.anchor is not None
        )
        if self.insecure_noise_seed is not None and asks_for_ledger:
            raise SettingsError(
                "seeded noise protects nobody, so no ledger takes it. Leave --ledger, its options"
                " or the seed out."
            )
        no_ledger = self.ledger is False or self.insecure_noise_seed is not None
        if no_ledger and (self.ledger_cap_rho, self.run, self.anchor) != (None, None, None):
            raise SettingsError(
                "a cap, a run's name and an anchor are kept by a ledger, and this run has none."
            )

    def _take_neighbors(self) -> None:
        """Split a `Neighbors` object into the two options that it stands for."""
        if isinstance(self.neighbors, str):
            object.__setattr__(self, "neighbors", str(self.neighbors))
            return
        from dprap.accounting import Neighbors

        if not isinstance(self.neighbors, Neighbors):
            raise SettingsError("--neighbors must be one of replace, add-remove.")
        bound = self.neighbors.max_rows_per_person
        if self.max_rows_per_person not in (1, bound):
            raise SettingsError(
                f"--max-rows-per-person is {self.max_rows_per_person}, and the neighbours given say"
                f" {bound}. Give one."
            )
        object.__setattr__(self, "max_rows_per_person", bound)
        object.__setattr__(self, "neighbors", self.neighbors.relation.value)

    def _fill(self) -> None:
        """Give options that nobody gave what the preset says, or their default."""
        has_preset = self.preset is not _UNSAID and self.preset is not None
        for name, value in (DEFAULTS | (_PAPER if has_preset else {})).items():
            if getattr(self, name) is _UNSAID:
                object.__setattr__(self, name, value)

    def _check_preset(self) -> None:
        """Refuse an option that says otherwise than the preset; settings are the method's own
        matter.
        """
        if self.preset is None:
            return
        for name, value in _PAPER.items():
            if getattr(self, name) != value:
                raise SettingsError(
                    f"--preset {self.preset} means {ABOUT[name].flag} {value}, not"
                    f" {getattr(self, name)}. Leave one out."
                )

    @classmethod
    def of(cls, **given: Any) -> RunOptions:
        """Options by name.

        Args:
            **given: The options; those that are left out have their default.

        Returns:
            The options, checked.

        Raises:
            SettingsError: If there is no such option, and the message says which one is near; or if
                a value is not allowed.

        >>> RunOptions.of(epsilon=1.0, kway=2).kway
        2
        """
        cls.check_names(given)
        return cls(**given)

    @staticmethod
    def check_names(given: Iterable[str]) -> None:
        """Refuse a name that there is not, and say which one is near.

        Args:
            given: The names.

        Raises:
            SettingsError: If a name is unknown.

        >>> RunOptions.check_names(["epsilon", "kway"])

        """
        for name in given:
            if name not in ABOUT:
                raise SettingsError(f"there is no option {name!r}. {_nearest(name)}")

    def but(self, **changes: Any) -> RunOptions:
        """These options with some replaced, which are checked as all are.

        Args:
            **changes: New values by name.

        Returns:
            The changed options.

        Raises:
            SettingsError: If a value is not allowed.
            TypeError: If there is no such option.

        >>> RunOptions(epsilon=1.0, kway=2).but(kway=3).kway
        3

        """
        return replace(self, **changes)

    def as_plain(self, folder: Path) -> dict[str, Any]:
        """The options as plain data for a job file.

        Args:
            folder: The folder of the file, to which paths are relative.

        Returns:
            The options by name, with the version of their form.

        Raises:
            SettingsError: If an option is an object in memory, which a file cannot keep.

        >>> RunOptions(epsilon=1.0, kway=2).as_plain(Path("."))["kway"]
        2

        """
        plain: dict[str, Any] = {"version": VERSION}
        for name, about in ABOUT.items():
            if not about.kept:
                continue
            value = getattr(self, name)
            if about.kind is Path and value is not None:
                if not isinstance(value, str | Path):
                    raise SettingsError(
                        f"--{name} is an object in memory, which cannot be kept for resuming. Write"
                        " it to a file and name that, or leave out= away and save the release."
                    )
                value = relative(str(value), folder)
            plain[name] = (
                dict(value)
                if isinstance(value, Mapping)
                else list(value)
                if about.kind is Names and value
                else value
            )
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], folder: Path) -> RunOptions:
        """The options that `as_plain` wrote; every one of its version must be there, and no other.

        Args:
            plain: The plain data.
            folder: The folder of the job file, to which paths are relative.

        Returns:
            The options.

        Raises:
            SettingsError: If a value is not allowed.
            KeyError: If an option is missing, unknown, or of a kind that is never kept.

        >>> options = RunOptions(epsilon=1.0, kway=2)
        >>> RunOptions.from_plain(options.as_plain(Path(".")), Path(".")) == options
        True

        """
        kept = {name for name, about in ABOUT.items() if about.kept}
        later = {name: DEFAULTS[name] for name in kept if ABOUT[name].since > plain["version"]}
        plain = later | dict(plain)
        if isinstance(plain.get("discover"), list):  # a file holds it as one text
            raise KeyError("discover")
        if set(plain) != kept | {"version"}:
            raise KeyError(*sorted(set(plain) ^ (kept | {"version"})))
        given: dict[str, Any] = {name: plain[name] for name in kept}
        for name, value in given.items():
            if ABOUT[name].kind is Path and value is not None:
                given[name] = absolute(value, folder)
        return cls(**given)


def _about(option: Field[Any]) -> About:
    kind, explanation, more = option.metadata["about"]
    return About(explanation, kind, **{"flag": "--" + option.name.replace("_", "-")} | more)


ABOUT: dict[str, About] = {option.name: _about(option) for option in fields(RunOptions)}
"""What is known of each option, in the order of the fields."""

DEFAULTS: dict[str, Any] = {
    option.name: option.metadata["default"]
    for option in fields(RunOptions)
    if option.name != "epsilon"
}
"""The default of each option that has one."""

PLANNED = tuple(name for name, about in ABOUT.items() if about.planned)
"""What decides about a plan; the rest is for the private table, the ledger and the output."""

# What the preset means beside settings. The paper buys no certificate.
_PAPER = {"method": "rap", "accounting": "paper", "certificate_share": 0.0}

# Settings that have a flag of their own on the command line, because most people who change a
# setting change one of these.
SETTING_FLAGS = {
    "rounds": "Adaptive rounds T.",
    "queries_per_round": "Queries per round K (rap).",
    "synthetic_rows": "Relaxed rows n'.",
    "device": "Where rows are fitted, such as gpu, gpu:1 or cpu (rap).",
}


def _nearest(name: str) -> str:
    import difflib

    if name in SETTING_FLAGS:
        return f'It is a setting of the method: settings={{"{name}": …}}.'
    # `plan` takes the number of records besides.
    near = difflib.get_close_matches(name, [*ABOUT, "records"], n=3)
    return f"Did you mean {' or '.join(near)}?" if near else f"The options are: {', '.join(ABOUT)}."
