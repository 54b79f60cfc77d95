"""What installed packages add to dprap, found by entry point (`importlib.metadata`) and imported
when it is used.

Two groups are read: `dprap.mechanisms` (names for `--method`) and `dprap.commands` (commands of the
command line). dprap's own mechanisms are registered the same way.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dprap.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MECHANISMS = "dprap.mechanisms"
COMMANDS = "dprap.commands"

_NOUN = {MECHANISMS: "method", COMMANDS: "command"}


def installed_names(group: str) -> list[str]:
    """The names that installed packages declare in a group: dprap's own first, then by alphabet.

    Args:
        group: `MECHANISMS` or `COMMANDS`.

    Returns:
        Each name once. No package is imported.
    """
    found = _entry_points(group)
    return sorted(found, key=lambda name: (package_of(found[name][0]) != "dprap", name))


def load_installed(group: str, name: str) -> tuple[Any, str] | None:
    """Import what an installed package declares under a name.

    Args:
        group: `MECHANISMS` or `COMMANDS`.
        name: The entry point's name.

    Returns:
        The object and the name of its package, or None where no package declares the name.

    Raises:
        SettingsError: The name is declared twice, or its package cannot be imported. The message is
            one line and names the packages.
    """
    declared = _entry_points(group).get(name)
    if declared is None:
        return None
    entry, *others = declared
    package = package_of(entry)
    if others:
        packages = sorted({package_of(each) for each in declared})
        who = (
            f"package {packages[0]} declares"
            if len(packages) == 1
            else f"packages {' and '.join(packages)} declare"
        )
        raise SettingsError(f"{who} the {_NOUN[group]} {name!r} more than once. Keep one of them.")
    try:
        return entry.load(), package
    # whatever a foreign package raises while it is imported
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SettingsError(
            f"{_NOUN[group]} {name!r} of package {package} cannot be imported ({reason}). "
            "Install what the package needs, or uninstall it."
        ) from error


def package_of(entry: EntryPoint) -> str:
    """The name of the distribution that declares an entry point."""
    return "(unknown)" if entry.dist is None else entry.dist.name


@cache
def _entry_points(group: str) -> dict[str, list[EntryPoint]]:
    """A group's entry points by name.

    Read once: what is installed does not change while dprap runs.
    """
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, []).append(entry)
    return found
