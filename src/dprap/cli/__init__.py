"""The command line. Modules behind a command are imported when it runs, so that help comes at once."""

from __future__ import annotations

import errno
import os
import sys


def main() -> None:
    """Run the command line; errors meant for the user become one line and an exit code."""
    from dprap.cli.app import app
    from dprap.cli.exits import REFUSED_INPUT, exit_code_of
    from dprap.cli.output import complain
    from dprap.errors import DprapError

    try:
        app()
    except DprapError as error:
        complain(str(error))
        sys.exit(exit_code_of(error))
    except BrokenPipeError:
        # the reader of our output went away (`| head`): say nothing more, on exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        complain(f"the path {str(error.filename)[:60]}… is too long for this system. Name a shorter one.")
        sys.exit(REFUSED_INPUT)
