"""A hint is a command to copy: what is put into one is quoted for a shell, or can only be a word of ours (EN-3)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.graph import sources

# The door, and the standard library's own.
QUOTING = {"quote_argument", "quote"}
# Names and values of ours, or hexadecimal: expression → why it needs no quoting.
HARMLESS = {
    "commit[:12]",  # hexadecimal
    "' -u '.join(exposed)",  # names of our own variables, `semantic/indexer_run.py`
    "name",  # an option's name, `search/metadata.py`
    "option",  # `--from` or `--to`, `ops/sharing/remote_session.py`
    "action",  # what an S3 call is named, `remote/transports/s3answers.py`
}


def hints() -> Iterator[tuple[str, ast.expr]]:
    """Every expression given as `hint=`, with the names of the modules."""
    for module, (_, tree) in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                yield module, node.value


def parts(node: ast.expr) -> Iterator[ast.expr]:
    """What is put into the texts of a hint: f-strings and sums, inside conditions too."""
    for found in ast.walk(node):
        if isinstance(found, ast.FormattedValue):
            yield found.value
        elif isinstance(found, ast.BinOp) and isinstance(found.op, ast.Add):
            yield from (
                side for side in (found.left, found.right) if not isinstance(side, ast.Constant | ast.BinOp)
            )


def is_safe(part: ast.expr) -> bool:
    if isinstance(part, ast.JoinedStr) or ast.unparse(part) in HARMLESS:
        return True
    if isinstance(part, ast.Call):
        called = part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "")
        joined = called == "join" and len(part.args) == 1 and is_safe(part.args[0])
        return called in QUOTING or joined
    last = part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
    return last.isupper()  # a constant of ours


def test_what_a_hint_holds_is_quoted():
    offenders = [
        f"{module}: {ast.unparse(part)}"
        for module, hint in hints()
        for part in parts(hint)
        if not is_safe(part)
    ]
    assert offenders == []


def test_the_check_sees_what_it_is_for():
    for bad in (
        "f'git switch {branch}'",
        "'git switch ' + wanted[0]",
        "f'a {x}' if y else f'b {z.w}'",
        "f'{str(p)!r}'",
    ):
        assert not all(map(is_safe, parts(ast.parse(bad, mode="eval").body))), bad
    for good in (
        "f'git switch {quote_argument(branch)}'",
        "f'one of {\", \".join(MODES)}'",
        "'plain'",
        "f'fix {FILE_NAME}'",
    ):
        assert all(map(is_safe, parts(ast.parse(good, mode="eval").body))), good
