"""SE-7: projects of one repository find each other by symbol, and never share one by accident."""

from __future__ import annotations

from pathlib import Path

from gitindex.scip.reader import IndexFile
from gitindex.semantic import contexts, package_names
from gitindex.semantic.decode import DecodedIndex
from tests.scip import writer

FILES = {
    "a/package.json": b'{"name": "@example/a", "version": "1.0.0"}',
    "a/index.ts": b"export function a() {}\n",
    "b/package.json": b'{"private": true}',
    "b/index.ts": b"a()\nexport function f() {}\n",
    "c/package.json": b"not JSON",
    "c/index.ts": b"export function f() {}\n",
    "index.ts": b"export function f() {}\n",
    "node_modules/left-pad/package.json": b'{"name": "left-pad"}',
    "setup.py": b"",
}


def named(root: str) -> package_names.Naming:
    discovered = contexts.discover(FILES, FILES.__getitem__)
    (context,) = [item for item in discovered if (item.language, item.root) == ("typescript", root)]
    return package_names.collect_naming(context, FILES, FILES.get)


def stored(tmp_path: Path, root: str, *symbols: tuple[str, int]) -> list[bytes]:
    """Names as they are stored for occurrences (symbol, roles) on the lines of a context's index.ts."""
    messages = [writer.occurrence(text, (row, 0, 1), roles) for row, (text, roles) in enumerate(symbols)]
    target = tmp_path / f"{root}.scip"
    target.write_bytes(writer.index(writer.document(f"{root}/index.ts", messages), tool="scip-typescript"))
    with IndexFile(target) as file:
        return sorted(name for _, name in DecodedIndex(file, FILES.get, naming=named(root)).symbols())


def test_a_package_of_the_repository_has_no_version_anywhere(tmp_path: Path):
    """The project that defines it and the one that refers to it store the same symbol; others keep their version."""
    a, other = (
        "scip-typescript npm @example/a 1.0.0 `index.ts`/a().",
        "scip-typescript npm left-pad 1.3.0 `i.ts`/l().",
    )
    assert stored(tmp_path, "a", (a, 1)) == [b"scip-typescript npm @example/a _ `index.ts`/a()."]
    assert stored(tmp_path, "b", (a, 8), (other, 8)) == [
        b"scip-typescript npm @example/a _ `index.ts`/a().",
        other.encode(),
    ]


def test_packages_without_a_name_are_told_apart(tmp_path: Path):
    """Both define `f` in index.ts; the tool calls both packages nothing."""
    f = "scip-typescript npm . . `index.ts`/f()."
    assert stored(tmp_path, "b", ("local 1", 8), (f, 1)) == [b"scip-typescript npm ./b _ `index.ts`/f()."]
    assert stored(tmp_path, "c", (f, 1)) == [b"scip-typescript npm ./c _ `index.ts`/f()."]


def test_only_what_needs_it_is_renamed():
    assert named("").nameless == named("a").nameless == b"."
    assert named("a").own == {b"@example/a"}
    discovered = contexts.discover(FILES, FILES.__getitem__)
    (python,) = [item for item in discovered if item.language == "python"]
    assert package_names.collect_naming(python, FILES, FILES.get) == package_names.NAMELESS
