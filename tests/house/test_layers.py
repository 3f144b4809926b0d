"""The shape of the package: layers, doors for side effects, sizes (SN-6, UI-3)."""

from __future__ import annotations

import ast
import tomllib
from copy import deepcopy

import pytest
from importlinter.cli import lint_imports
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.domain.contract import Contract

from tests.house.graph import REPOSITORY, importers, imports, sources

# Each kind of side effect and each heavy package has its door; a new importer is a decision, made here.
DOORS = {
    "subprocess": {
        "gitindex.launch",
        "gitindex.git.run",
        "gitindex.hooks.spawn",
        "gitindex.semantic.process",
        "gitindex.cli.pager",
    },
    "boto3": {"gitindex.remote.transports.s3"},
    "botocore": {"gitindex.remote.transports.s3"},
    "mcp": {"gitindex.mcp.server"},
    "lance": {"gitindex.segment.chunk_table"},
    "lancedb": set(),
    "torch": {"gitindex.extract.embed.transformers"},
    "sentence_transformers": {"gitindex.extract.embed.transformers"},
    "pygit2": {"gitindex.git.objects_pygit2"},
    "cryptography": {"gitindex.trust.keys"},
    "multiprocessing": {
        "gitindex.indexing.writerpool",
        "gitindex.indexing.writerprocess",
        "gitindex.semantic.parallel_read",
    },
    "socket": {"gitindex.indexing.writerpool"},  # a time limit on a pipe; no network
}
# Who may open segment files: those that write them, and the one that reads them for everybody else.
MAY_READ_SEGMENTS = (
    "gitindex.segment",
    "gitindex.view",
    "gitindex.store",
    "gitindex.lifecycle",
    "gitindex.indexing",
)
READERS = {"Facts", "LexicalIndex", "open_table", "batches", "vectors", "read_marker"}
# Below `ops`, yet for everybody: values, settings, and how a process of ours is started.
VALUES = {"config", "userconfig", "model", "child", "errors"}
# Decisions without IO: bytes and values in, values out.
PURE = (
    "files.policy",
    "files.links",
    "lifecycle.retention",
    "search.chunkscore",
    "search.filescore",
    "search.placescore",
    "search.clues",
    "trust.verify",
    "indexing.compose",
    "extract.depth",
)
IO = {"os", "pathlib", "shutil", "subprocess", "sqlite3", "socket", "tempfile", "io"}


def test_imports_point_down(monkeypatch: pytest.MonkeyPatch):
    """The layers contract of pyproject.toml, lazy imports counted."""
    monkeypatch.chdir(REPOSITORY)
    assert lint_imports(config_filename="pyproject.toml", no_cache=True) == 0


def contract(name: str) -> Contract:
    """A contract of pyproject.toml, as import-linter makes it."""
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    found = next(item for item in settings["contracts"] if item["name"] == name)
    options = {key: str(value) if isinstance(value, bool) else value for key, value in found.items()}
    kinds = {kind.type_name: kind for kind in (ForbiddenContract, LayersContract, AcyclicSiblingsContract)}
    return kinds[options["type"]](
        name=name, session_options={"root_packages": ["gitindex"]}, contract_options=options
    )


@pytest.mark.parametrize(
    ("name", "importer", "imported"),
    [
        ("imports point down", "gitindex.store.atomic", "gitindex.ops.codebase"),
        ("imports point down", "gitindex.hooks.worker", "gitindex.cli.output"),
        ("the command line and MCP call ops", "gitindex.cli.cmd_gc", "gitindex.lifecycle.gc"),
        ("the command line and MCP call ops", "gitindex.cli.cmd_search", "gitindex.search.ranking"),
        ("the command line and MCP call ops", "gitindex.cli.command", "gitindex.git.repo"),
        ("the command line and MCP call ops", "gitindex.cli.cmd_status", "gitindex.indexing.plan"),
        ("the command line and MCP call ops", "gitindex.cli.cmd_refresh", "gitindex.semantic.process"),
        ("the command line and MCP call ops", "gitindex.mcp.roots", "gitindex.store.stores"),
        ("the command line and MCP call ops", "gitindex.mcp.server", "gitindex.gate"),
        ("no cycles", "gitindex.git.objects_cli", "gitindex.git.objects"),
        ("no cycles", "gitindex.model.paths", "gitindex.store.layout"),
        ("no cycles in ops", "gitindex.ops.codebase", "gitindex.ops.syncing.sync"),
        ("no cycles in ops", "gitindex.ops.maintain.store_inventory", "gitindex.ops.maintain.collect"),
    ],
)
def test_a_breach_is_caught(name: str, importer: str, imported: str):
    """Each contract holds for the package as it is, and fails with one wrong import more."""
    graph = deepcopy(imports())
    assert {importer, imported} <= graph.modules
    assert not graph.direct_import_exists(importer=importer, imported=imported)
    assert contract(name).check(deepcopy(graph), verbose=False).kept
    graph.add_import(importer=importer, imported=imported, line_number=1, line_contents="")
    assert not contract(name).check(graph, verbose=False).kept


def test_every_package_below_ops_is_forbidden_to_the_front_ends():
    """A new package below `ops` is named in the contract, or among the values that everybody may import."""
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    contracts = {item["name"]: item for item in settings["contracts"]}
    layers = contracts["imports point down"]["layers"]
    below = {name for layer in layers[layers.index("ops") + 1 :] for name in layer.split(" | ")}
    forbidden = contracts["the command line and MCP call ops"]["forbidden_modules"]
    assert below - {name.removeprefix("gitindex.") for name in forbidden} == VALUES


@pytest.mark.parametrize("package", DOORS)
def test_every_side_effect_has_its_door(package: str):
    assert importers(package) <= DOORS[package]


def test_only_a_view_reads_segments_for_questions():
    """SN-6, IDX.MUST.001: nobody above `lifecycle` gets hold of a reader of segment files."""
    offenders = []
    for name, (path, tree) in sources().items():
        if name.startswith(MAY_READ_SEGMENTS):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gitindex.segment"):
                taken = {alias.name for alias in node.names} & READERS - _for_typing(tree)
                modules = {alias.name for alias in node.names if node.module == "gitindex.segment"}
                uses = {
                    found.attr
                    for found in ast.walk(tree)
                    if isinstance(found, ast.Attribute)
                    and isinstance(found.value, ast.Name)
                    and found.value.id in modules & {"facts", "lexical", "chunks"}
                }
                offenders += [f"{path.name}: {reader}" for reader in sorted(taken | uses & READERS)]
    assert offenders == []


def _for_typing(tree: ast.Module) -> set[str]:
    """Names that are only annotations: they are never called."""
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return READERS - called


@pytest.mark.parametrize("module", PURE)
def test_decisions_do_no_io(module: str):
    graph = imports()
    assert graph.find_modules_directly_imported_by(f"gitindex.{module}").isdisjoint(IO)


def test_the_environment_is_read_in_few_places():
    """CF-1: `config` reads it for everybody; git, hooks and `child` pass it on to the processes they start."""
    readers = {
        name
        for name, (_, tree) in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("environ", "getenv")
        and getattr(node.value, "id", "") == "os"
    }
    assert readers <= {
        "gitindex.child",
        "gitindex.config",
        "gitindex.launch",
        "gitindex.git.environment",
        "gitindex.cli.cmd_hooks",
        "gitindex.hooks.spawn",
        "gitindex.hooks.__main__",
    }


def test_only_the_command_line_prints():
    """UI-1: stdout belongs to answers."""
    printers = {
        name
        for name, (_, tree) in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert printers == set()


def test_rename_has_one_door():
    """SN-4: whoever renames inside a store goes through `store.atomic`, which also fsyncs."""
    renamers = {
        name
        for name, (_, tree) in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("rename", "replace")
        and getattr(node.value, "id", "") == "os"
    }
    inside = {
        name
        for name in renamers
        if name.startswith(("gitindex.store", "gitindex.segment", "gitindex.lifecycle", "gitindex.indexing"))
    }
    assert inside <= {"gitindex.store.atomic", "gitindex.store.stores", "gitindex.store.log"}


def test_modules_are_small_and_finished():
    """No module over 400 lines, each with a docstring (packages aside), no promises left in comments."""
    marks = ("TO" + "DO", "FIX" + "ME", "X" + "XX")
    for name, (path, tree) in sources().items():
        text = path.read_text("utf-8")
        assert text.count("\n") <= 400, name
        assert ast.get_docstring(tree) or path.name == "__init__.py", name
        assert not any(mark in text for mark in marks), name


def test_no_drawers():
    """A module is named after what it holds."""
    names = {part for name in sources() for part in name.split(".")}
    assert names.isdisjoint({"utils", "util", "helpers", "helper", "common", "misc"})
