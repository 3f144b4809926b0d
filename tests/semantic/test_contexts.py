"""SE-1: contexts come from project files, each file has one owner per language, ids change with the
configuration.
"""

from __future__ import annotations

import posixpath
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.semantic.contexts import FAMILIES, _assign_to_roots, discover, map_owners

TREE = {
    "pyproject.toml": b"[project]\nname='a'\n",
    "a/mod.py": b"",
    "tools/setup.py": b"",
    "tools/x/y.py": b"",
    "web/package.json": b'{"name": "web"}',
    "web/tsconfig.json": b"{}",
    "web/src/i.ts": b"",
    "web/packages/k/package.json": b'{"name": "k"}',
    "web/packages/k/k.tsx": b"",
    "script.js": b"",
    "svc/go.mod": b"module svc\n",
    "svc/main.go": b"package main\n",
    "svc/sub/go.mod": b"module sub\n",
    "svc/sub/s.go": b"",
    "orphan/o.go": b"",
    "jvm/settings.gradle.kts": b'include(":app")\n',
    "jvm/app/build.gradle.kts": b"",
    "jvm/app/A.kt": b"",
    "jvm/app/B.java": b"",
    "rs/Cargo.toml": b"[workspace]\nmembers=['c']\n",
    "rs/c/Cargo.toml": b"[package]\n",
    "rs/c/src/lib.rs": b"",
    "solo/Cargo.toml": b"[package]\n",
    "solo/src/main.rs": b"",
    "cc/CMakeLists.txt": b"project(x)\nadd_subdirectory(l)\n",
    "cc/l/CMakeLists.txt": b"add_library(l l.cpp)\n",
    "cc/l/l.cpp": b"",
    "cc/l/l.h": b"",
    "net/App.sln": b"Microsoft Visual Studio Solution File\n",
    "net/App/App.csproj": b"<Project/>",
    "net/App/P.cs": b"",
}


def found(tree):
    return discover(tree, tree.__getitem__)


def test_every_language_of_a_mixed_repository():
    seen = {(c.language, c.root): c.files for c in found(TREE)}
    assert seen == {
        ("python", ""): ("a/mod.py",),
        ("python", "tools"): ("tools/setup.py", "tools/x/y.py"),
        ("typescript", ""): ("script.js",),
        ("typescript", "web"): ("web/src/i.ts",),
        ("typescript", "web/packages/k"): ("web/packages/k/k.tsx",),
        ("go", "svc"): ("svc/main.go",),
        ("go", "svc/sub"): ("svc/sub/s.go",),
        ("java", "jvm"): ("jvm/app/A.kt", "jvm/app/B.java"),
        ("rust", "rs"): ("rs/c/src/lib.rs",),
        ("rust", "solo"): ("solo/src/main.rs",),
        ("cpp", "cc"): ("cc/l/l.cpp", "cc/l/l.h"),
        ("csharp", "net"): ("net/App/P.cs",),
    }


def test_ids_say_language_root_and_configuration():
    ids = [c.id for c in found(TREE)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"ctx_[a-z]+_[a-z0-9-]+_[0-9a-f]{8}", i) for i in ids)
    assert any(i.startswith("ctx_typescript_web-packages-k_") for i in ids)


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("web/tsconfig.json", {("typescript", "web"), ("typescript", "web/packages/k")}),
        ("web/packages/k/package.json", {("typescript", "web/packages/k")}),
        ("svc/go.mod", {("go", "svc"), ("go", "svc/sub")}),
        ("rs/c/Cargo.toml", {("rust", "rs")}),
        ("a/mod.py", set()),
    ],
)
def test_the_hash_covers_the_files_that_matter(path, changed):
    before = {c.key: c.config_hash for c in found(TREE)}
    after = {c.key: c.config_hash for c in found({**TREE, path: b"other [workspace] include( project("})}
    assert {key for key in before if before[key] != after.get(key)} == changed


def test_no_project_file_no_context_unless_the_tool_needs_none():
    assert [c.key for c in found({"x.go": b"", "y.rs": b"", "z.py": b"", "w.ts": b""})] == [
        ("python", ""),
        ("typescript", ""),
    ]


names = st.sampled_from(
    ["a", "b", "c-d", "package.json", "go.mod", "m.py", "n.ts", "o.go", "pyproject.toml", "p.rs"]
)
trees = st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), max_size=30)


@settings(max_examples=150, deadline=None)
@given(trees, st.randoms())
def test_one_owner_per_language_deepest_root_and_no_order(paths, random):
    contexts = discover(paths, lambda _: b"")
    shuffled = paths[:]
    random.shuffle(shuffled)
    assert discover(shuffled, lambda _: b"") == contexts
    assert sum(len(c.files) for c in contexts) == len(map_owners(contexts))
    for context in contexts:
        family = next(f for f in FAMILIES if f.language == context.language)
        rivals = [c.root for c in contexts if c.language == context.language and c.root != context.root]
        for path in context.files:
            assert path.endswith(family.suffixes)
            assert not context.root or path.startswith(context.root + "/")
            deeper = [
                r
                for r in rivals
                if r.startswith(context.root) and path.startswith(r + "/") and len(r) > len(context.root)
            ]
            assert not deeper
            assert posixpath.normpath(path) in {posixpath.normpath(p) for p in paths}


def test_a_source_belongs_to_the_deepest_root_above_it():
    sources = ["a/b/c/one.py", "a/two.py", "three.py", "d/four.py"]
    assert _assign_to_roots(sources, {"", "a", "a/b"}) == {
        "a/b": ["a/b/c/one.py"],
        "a": ["a/two.py"],
        "": ["three.py", "d/four.py"],
    }
    assert _assign_to_roots(sources, {"a/b"}) == {"a/b": ["a/b/c/one.py"]}
