"""The lock files: every package has a hash, every installation asks for it, and no registry is
named.
"""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
LOCKS = sorted(PROJECT.glob("requirements*.lock"))
PINNED = re.compile(r"^([A-Za-z0-9_.-]+)==\S+", re.MULTILINE)


def entries(lock):
    """Each pinned package of a lock file with its text up to the next."""
    text = lock.read_text()
    starts = [match.start() for match in PINNED.finditer(text)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def test_there_is_a_lock_for_each_environment():
    assert {lock.name for lock in LOCKS} == {
        f"requirements{kind}.lock" for kind in ("", "-dev", "-docs", "-engines")
    }


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_has_a_hash(lock):
    found = entries(lock)
    assert len(found) > 10
    for entry in found:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry.splitlines()[0]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_no_registry_is_named(lock):
    assert not re.search(r"://|(?<!no-emit-)index-url|find-links|trusted-host", lock.read_text())


def test_what_environments_share_has_the_same_version():
    """The documentation's environment stands alone."""
    pins = {lock.name: {match[0] for match in PINNED.finditer(lock.read_text())} for lock in LOCKS}
    developed = pins["requirements-dev.lock"]
    names = {pin.partition("==")[0] for pin in developed}
    assert pins["requirements.lock"] <= developed
    assert {
        pin for pin in pins["requirements-engines.lock"] if pin.partition("==")[0] in names
    } <= developed


def test_every_installation_from_a_lock_asks_for_hashes():
    lines = [
        line
        for file in (PROJECT / "Makefile", PROJECT / "tests/engines/install")
        for line in file.read_text().splitlines()
        if "pip" in line and re.search(r"-r requirements\S*\.lock", line)
    ]
    assert len(lines) == 4
    assert all("--require-hashes" in line or "$(INSTALL)" in line for line in lines)
    assert re.search(
        r"^INSTALL := .*--require-hashes", (PROJECT / "Makefile").read_text(), re.MULTILINE
    )
