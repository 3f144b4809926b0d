"""Nothing waits for a use: error classes are raised, skip reasons assigned, stand-ins offered to nobody."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from gitindex import errors
from gitindex.config import parse
from gitindex.errors import ConfigError, GitindexError
from gitindex.extract.embed.embedders import KNOWN_PROVIDERS, PROVIDERS
from gitindex.model import skips, textonly
from gitindex.model.skips import SkipReason
from tests.house.graph import REPOSITORY, imports, sources

REASONS = {
    "SkipReason": ({member.name for member in SkipReason}, skips.__name__),
    "textonly": ({name for name in vars(textonly) if name.isupper()}, textonly.__name__),
}

ASSIGNED = {"SkipReason": ": in files/policy.py, files/links.py or source/gittree.py", "textonly": ""}


def error_classes() -> dict[str, set[str]]:
    """Every class below GitindexError in the package → names of its bases. Read from the sources: nothing is imported."""
    found = {"GitindexError": {"Exception"}}
    classes = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for _, tree in sources().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    while more := {name for name, bases in classes.items() if bases & found.keys()} - found.keys():
        found.update((name, classes[name]) for name in more)
    return found


def made_names(tree: ast.Module) -> Iterator[str]:
    """Names that are used other than as a base, in an `except`, an `isinstance` or an annotation."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        for part in _not_made(node):
            skipped.update(id(inner) for inner in ast.walk(part))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _not_made(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.ClassDef):
        yield from node.bases
    elif isinstance(node, ast.ExceptHandler) and node.type is not None:
        yield node.type
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
        "isinstance",
        "issubclass",
        "suppress",
    ):
        yield from node.args
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
        yield node.returns
    elif (isinstance(node, ast.arg) and node.annotation is not None) or isinstance(node, ast.AnnAssign):
        yield node.annotation


def test_every_error_class_is_raised():
    """An error that nobody raises promises an exit code and a next step that no user meets (docs/exit-codes.md)."""
    classes = error_classes()
    raised = {name for _, tree in sources().values() for name in made_names(tree)} & classes.keys()
    while more := {base for name in raised for base in classes[name]} & classes.keys() - raised:
        raised |= more
    unused = sorted(classes.keys() - raised)
    assert unused == [], f"delete {', '.join(unused)} (and its row in docs/exit-codes.md), or raise it"
    assert {found.__name__ for found in _family(errors.GitindexError)} <= classes.keys()


def _family(root: type[GitindexError]) -> set[type[GitindexError]]:
    return {root}.union(*map(_family, root.__subclasses__()))


@pytest.mark.parametrize("kind", REASONS)
def test_every_reason_is_assigned(kind: str):
    """EL-1, EL-8: a reason that no file can have is not in the list that `status` explains."""
    names, home = REASONS[kind]
    assigned: set[str] = set()
    for module, (_, tree) in sources().items():
        compared = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Compare, ast.MatchValue))
            for inner in ast.walk(node)
        }
        assigned.update(
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == kind
            if module != home and id(node) not in compared
        )
    unused = sorted(names - assigned)
    assert unused == [], f"delete {', '.join(unused)} from {home}, or assign it to a file{ASSIGNED[kind]}"
    unknown = sorted(name for name in assigned - names if name.isupper())
    assert unknown == [], f"{home} does not have {', '.join(unknown)}"


def test_the_stand_in_embedder_is_offered_to_nobody():
    """Its vectors mean nothing; tests name it, users are not led to it."""
    with pytest.raises(ConfigError) as caught:
        parse(b'[embedding]\nprovider = "nonesuch"\n')
    assert all(name in caught.value.message for name in PROVIDERS)
    assert "fake" not in caught.value.message
    assert parse(b'[embedding]\nprovider = "fake"\n').embedding.provider == "fake"
    assert set(KNOWN_PROVIDERS) - set(PROVIDERS) == {"fake"}
    for page in [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]:
        assert '"fake"' not in page.read_text("utf-8"), page.name


def test_every_module_is_used():
    """What only tests import lives beside them. Some modules are started by name: commands, workers, `python -m`."""
    graph = imports()
    texts = {
        node.value
        for _, tree in sources().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    started = "\n".join([*texts, (REPOSITORY / "pyproject.toml").read_text("utf-8")])
    unused = [
        name
        for name, (path, _) in sources().items()
        if path.name not in ("__init__.py", "__main__.py")
        if not graph.find_modules_that_directly_import(name)
        if name not in started and not name.startswith("gitindex.cli.cmd_") and not _starts_itself(name)
    ]
    assert unused == [], f"nothing imports {', '.join(unused)}: delete it, or move it to tests/"


def _starts_itself(name: str) -> bool:
    """Named by its own `__name__`, or by the shell hook, as what to run."""
    text = sources()[name][0].read_text("utf-8")
    return "(__name__," in text or name in (REPOSITORY / "hooks" / "gitindex-hook").read_text("utf-8")
