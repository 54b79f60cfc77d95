"""Who may reach the exact counts: the import graph says so, read from the source files."""

import ast
from pathlib import Path

import dprap

ROOT = Path(dprap.__file__).parent
DOORS = (
    "dprap.privacy",
    "dprap.sources",
    "dprap.api",
    "dprap.run",
    "dprap.cli",
    "dprap.evaluate",
    "dprap.datasets",
    "dprap.bench",
    "dprap.report.write",
)
# The private side itself, and the entry points through which a steward hands a table over or compares with it (the last
# one for the page of `dprap evaluate`, whose first line says that it is not private).

PUBLIC = (
    "dprap.mechanisms",
    "dprap.relaxed",
    "dprap.release",
    "dprap.queries",
    "dprap.workload",
    "dprap.schema",
    "dprap.public",
)
# The public side: post-processing and what is publicly known. A public table is read by `dprap.public`, which reaches no source.


def module_of(path):
    parts = ("dprap", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for path in ROOT.rglob("*.py")}


def inside(module, packages):
    return any(module == package or module.startswith(package + ".") for package in packages)


def imported_by(module, tree=None):
    """Modules of dprap that a module imports anywhere in its text, functions included."""
    tree = tree or ast.parse(FILES[module].read_text())
    package = module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(
                    [*package.split(".")[: len(package.split(".")) - node.level + 1], *filter(None, [base])]
                )
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        elif (
            isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and "import" in ast.unparse(node.func)
        ):
            found.add(str(node.args[0].value))
    return {name for name in found if name in FILES}


GRAPH = {module: imported_by(module) for module in FILES}


def test_only_the_doors_import_sources():
    for module, imports in GRAPH.items():
        if not inside(module, DOORS):
            assert not {name for name in imports if inside(name, ("dprap.sources",))}, module


def test_the_public_side_imports_no_door_but_the_curators():
    """A mechanism may import `dprap.privacy` for the Curator's type. No other door, so no path to a source but through it."""
    for module in GRAPH:
        if inside(module, PUBLIC):
            reached, waiting = set(), [module]
            while waiting:
                name = waiting.pop()
                for following in GRAPH[name] - reached:
                    assert not inside(following, ("dprap.sources", "dprap.api", "dprap.run", "dprap.cli")), (
                        module,
                        following,
                    )
                    if not inside(following, ("dprap.privacy",)):
                        reached.add(following)
                        waiting.append(following)


PRIVATE_NAMES = {
    "_exact",
    "_source",
    "_tables",
    "_journal",
    "_steps",
    "_entropy",
    "ExactAnswers",
    "MemorySource",
    "CountSource",
    "add_discrete_gaussian",
    "sample_by_table",
    "pick_top",
    "OsEntropy",
}


def test_the_public_side_names_nothing_private():
    """Nor does it go round the Curator by its private attributes."""
    for module, path in FILES.items():
        if inside(module, PUBLIC):
            for node in ast.walk(ast.parse(path.read_text())):
                name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                    continue  # a private attribute of its own
                assert name not in PRIVATE_NAMES, (module, name)


def test_the_public_side_takes_little_from_privacy():
    modules = ("accounting", "budget", "measurement", "neighbors", "scores", "curator", "gaussian")
    allowed = {"dprap.privacy", *(f"dprap.privacy.{name}" for name in modules)}  # of `gaussian` only the formula of σ
    for module, imports in GRAPH.items():
        if inside(module, PUBLIC):
            assert {name for name in imports if inside(name, ("dprap.privacy",))} <= allowed, module


def test_the_test_sees_imports_of_every_form():
    tree = ast.parse(
        "import dprap.sources\nfrom dprap import sources as s\nfrom ..sources import memory\n"
        "def f():\n    from dprap.sources.memory import MemorySource\n    importlib.import_module('dprap.sources.tally')\n"
    )
    assert imported_by("dprap.privacy.curator", tree) >= {
        "dprap.sources",
        "dprap.sources.memory",
        "dprap.sources.tally",
    }
