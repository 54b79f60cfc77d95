"""Commands of installed packages: listed, run, and no burden on the others."""

import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from dprap.cli.app import app
from dprap.errors import SettingsError
from dprap.plugins import COMMANDS, installed_names

GREETING = """
import typer
app = typer.Typer(help="Greet people.", no_args_is_help=True)
@app.command()
def hello(name: str) -> None:
    '''Say hello.'''
    typer.echo(f"hello {name}")
@app.command()
def bye(name: str) -> None:
    '''Say goodbye.'''
"""


def test_an_installed_command_is_listed_and_run(install):
    install(
        "dprap-greeting", "[dprap.commands]\ngreet = dprap_greeting:app\n", dprap_greeting=GREETING
    )
    listed = CliRunner().invoke(app, ["--help"])
    assert listed.exit_code == 0
    assert "greet" in listed.output
    assert "Greet people." in listed.output
    ran = CliRunner().invoke(app, ["greet", "hello", "Ada"])
    assert (ran.exit_code, ran.output) == (0, "hello Ada\n")


def test_dpraps_own_commands_neither_wait_for_others_nor_give_way(install):
    install(
        "dprap-thief",
        "[dprap.commands]\nplan = dprap_thief:app\n",
        dprap_thief="raise SystemExit('stolen')",
    )
    assert CliRunner().invoke(app, ["plan", "--help"]).exit_code == 0
    assert CliRunner().invoke(app, ["--help"]).output.count("\n  plan ") == 1
    assert "dprap_thief" not in sys.modules


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        ("import nothing_of_that_name", "cannot be imported (ModuleNotFoundError"),
        ("app = 5", "is no typer.Typer"),
    ],
)
def test_a_command_at_fault_says_so_and_leaves_help_alone(install, module, complaint):
    install(
        "broken-plug-in", "[dprap.commands]\nbroken = broken_plug_in:app\n", broken_plug_in=module
    )
    listed = CliRunner().invoke(app, ["--help"])
    assert listed.exit_code == 0
    assert "synth" in listed.output
    ran = CliRunner().invoke(app, ["broken", "--any", "thing"])
    assert isinstance(ran.exception, SettingsError)
    assert "command 'broken' of package broken-plug-in" in str(ran.exception)
    assert complaint in str(ran.exception)


def test_without_the_benchmark_its_command_is_unknown_with_a_hint(install, monkeypatch):
    monkeypatch.setattr("dprap.cli.installed.load_installed", lambda *_: None)
    ran = CliRunner().invoke(app, ["bench", "quick"])
    assert ran.exit_code == 2
    assert "No such command 'bench'" in ran.output
    assert "install dprap-bench" in ran.output
    other = CliRunner().invoke(app, ["bnech"])
    assert other.exit_code == 2
    assert "dprap-bench" not in other.output


def test_looking_for_commands_takes_little_time(install):
    """A hundred packages more, on top of what is installed: CPU seconds, since the machine may be
    busy.
    """
    for number in range(100):
        install(f"other-{number}", f"[console_scripts]\nother{number} = other:main\n")
    start = time.process_time()
    installed_names(COMMANDS)
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], {"jax", "numpy", "pandas", "pyarrow", "matplotlib"}),
        (["plan", "--help"], {"jax", "numpy", "pandas", "pyarrow", "matplotlib", "dprap_bench"}),
    ],
)
def test_help_imports_nothing_heavy(arguments, unwanted):
    """What keeps `dprap --help` below .3 seconds: only a list of commands imports plug-ins, and
    theirs are light.
    """
    script = (
        f"import sys; sys.argv = ['dprap', *{arguments}]\n"
        "from dprap.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "Usage" in ran.stdout
    assert not unwanted & set(ran.stderr.split())
