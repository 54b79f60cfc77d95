"""Messages in the words of Python.

They are written with the flags of the command line (`--max-cells`), which cannot be mistaken for
ordinary words, and renamed (`max_cells`) where Python calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dprap.errors import DprapError
from dprap.runs.options import ABOUT, SETTING_FLAGS

_PYTHON_NAMES = {about.flag: name for name, about in ABOUT.items() if about.flag} | {
    "--" + name.replace("_", "-"): f'settings["{name}"]' for name in SETTING_FLAGS
}
_PYTHON_NAMES["--records"] = "records"  # of a plan, not of a run
_PYTHON_NAMES |= {
    f"--no-{name}": f"{name}=False" for name, about in ABOUT.items() if about.kind is bool
}
# A flag, and after it a value that a message proposes: a number or a word in capitals.
_FLAG = re.compile(r"(?<![\w-])(--[a-z][a-z-]*[a-z])(?![\w-])( (?=[0-9]|[A-Z]{3}))?")


def in_python(text: str) -> str:
    """A message with options as Python writes them.

    >>> in_python("Raise --max-cells, or try --delta 1e-9; --yes is no option of a run.")
    'Raise max_cells, or try delta=1e-9; --yes is no option of a run.'
    >>> in_python("Name a --format parquet can hold.")
    'Name a table_format parquet can hold.'
    """

    def written(found: re.Match[str]) -> str:
        name = _PYTHON_NAMES.get(found[1])
        return found[0] if name is None else name + ("=" if found[2] else "")

    return _FLAG.sub(written, text)


@contextmanager
def worded_for_python() -> Iterator[None]:
    """Let errors inside the block name options as Python writes them."""
    try:
        yield
    except DprapError as error:
        error.args = tuple(
            in_python(part) if isinstance(part, str) else part for part in error.args
        )
        raise
