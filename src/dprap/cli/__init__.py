"""The command line. Modules behind a command are imported when it runs, so that help comes at once.

app        the commands in one application
demo, schema, plan, synth, resume, answer, report, statement, evaluate, ledger, studio
           a command each
review     the walk through a draft
installed  commands that installed packages add
summaries  lists of commands with whole sentences
options    options of commands, made from the fields of `RunOptions`
output     results on stdout, everything else on stderr
watching   what is shown of a run, and how a signal stops one
stopping   Ctrl-C and SIGTERM
secrets    passwords, taken out before anything can keep or show them
exits      exit codes
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; errors meant for the user become one line and an exit code."""
    from dprap.lazy_imports import importing

    with importing():
        from dprap.cli.exits import REFUSED_INPUT, exit_code_of
        from dprap.cli.output import complain, show_every_sign
        from dprap.cli.secrets import passwords_taken
        from dprap.errors import DprapError

    # Pydantic would look through every installed package for plug-ins, a tenth of the time that a
    # question takes.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    show_every_sign()
    try:
        with passwords_taken(sys.argv):
            with importing():
                from dprap.cli.app import application_for

                app = application_for(sys.argv[1:])
            app()
    except DprapError as error:
        complain(str(error))
        sys.exit(exit_code_of(error))
    except BrokenPipeError:
        # the reader of our output went away (`| head`): say nothing more, on exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        # a path may hold values of records (folders named column=value), so only the system's own
        # words are shown
        complain(
            f"the system refused to use a file: {error.strerror or type(error).__name__}. Check the"
            " paths."
        )
        sys.exit(REFUSED_INPUT)
