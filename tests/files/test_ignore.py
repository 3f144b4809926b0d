"""The ignore engine says what git says (EL-5), and fingerprints what it read (CF-2)."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitindex.files.ignore import Ignore, IgnoreRules, fingerprint_rules
from tests.support.gitrepo import GitRepo


def asked_git(root: Path, paths: list[bytes]) -> set[bytes]:
    """The paths `git check-ignore` would ignore, whether tracked or not."""
    done = subprocess.run(
        ["git", "-C", str(root), "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"],
        input=b"\0".join(paths) + b"\0",
        capture_output=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.split(b"\0")[:-1])


def ours(root: Path, files: dict[str, bytes], paths: list[bytes]) -> set[bytes]:
    ignore = Ignore(
        IgnoreRules.parse(name.removesuffix(".gitignore").rstrip("/"), data) for name, data in files.items()
    )
    return {path for path in paths if ignore.is_ignored(path, (root / path.decode()).is_dir())}


def agree(root: Path, files: dict[str, bytes], paths: list[bytes]) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    assert ours(root, files, paths) == asked_git(root, paths), files


def plant(root: Path, tree: list[str]) -> list[bytes]:
    """Make files (and directories, spelled with a slash); return every path including parents."""
    seen: set[str] = set()
    for name in tree:
        target = root / name
        if name.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        parts = name.rstrip("/").split("/")
        seen.update("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    return [name.encode() for name in sorted(seen)]


TREE = [
    "a",
    "b.py",
    "foo",
    "foobar",
    "foo bar",
    "foo ",
    "#foo",
    "!foo",
    "[a]",
    "a\\b",
    "x-y",
    "é",
    "d/a",
    "d/b.py",
    "d/foo/a",
    "d/e/foo",
    "d/e/f/b.py",
    "d/e/f/g/a.c",
    "foo.d/x/b.py",
    "doc/frotz/a",
    "doc/a.txt",
    "build/keep/a",
    "build/out",
    "fooa/b/bar",
    "none/foo/",
]
GOLDEN = [
    b"foo",
    b"/foo",
    b"foo/",
    b"d/foo",
    b"/d/foo",
    b"d/foo/",
    b"*.py",
    b"/*.py",
    b"**/foo",
    b"**/b.py",
    b"d/**",
    b"d/**/",
    b"d/**/b.py",
    b"d/**/f/**/a.c",
    b"**",
    b"*",
    b"*\n!d\n!d/**\n*.c",
    b"*\n!*/\n!b.py",
    b"build\n!build/keep",
    b"build/*\n!build/keep",
    b"foo**/bar",
    b"f**r",
    b"d/*/foo",
    b"d/e*",
    b"?",
    b"??",
    b"fo?",
    b"[ab]",
    b"[!a]",
    b"[^a]",
    b"[]a]",
    b"[a-c]",
    b"[c-a]",
    b"[a-]",
    b"[[:alpha:]]",
    b"[[:alpha:][:punct:]]foo",
    b"[[:nope:]]",
    b"[[:alpha:]",
    b"[[:a]",
    b"[a",
    b"\\[a\\]",
    b"\\#foo",
    b"#foo",
    b"\\!foo",
    b"!foo",
    b"a\\\\b",
    b"foo\\",
    b"foo\\ ",
    b"foo ",
    b"foo  \\  ",
    b"foo\\\\ ",
    b"foo bar   ",
    b"foo\t",
    b"\xef\xbb\xbffoo",
    b"foo\r\n*.py\r\n",
    b"\r\nfoo\r",
    b"foo\r\r\n",
    b"foo\0bar",
    b"/",
    b"//",
    b"!",
    b"!/",
    b"\\",
    b"doc//frotz",
    b"doc/frotz",
    b"frotz/",
    b"doc/*.txt",
    b"./foo",
    b"../foo",
    b"*a*",
    b"*o*o*",
    b"**foo",
    b"d/**foo",
    b"d**/foo",
    b"/**/e",
    b"d/**\\/foo",
    b"***/foo",
    b"d/***/b.py",
    b"\xc3\xa9",
    b"[\xc3\xa9][\xa9]",
    b"foo\n!foo\nfoo",
    b"*.py\n!/b.py",
    b"d/\n!d/b.py",
    b"d/*\n!d/e/",
]


def test_every_golden_rule_file_agrees_with_git(repo: GitRepo) -> None:
    """EL-5: the table holds one reading of each clause of gitignore(5) and of git's own oddities."""
    paths = plant(repo.root, TREE)
    for rules in GOLDEN:
        agree(repo.root, {".gitignore": rules}, paths)


def test_nested_rule_files_take_precedence(repo: GitRepo) -> None:
    """EL-5: deeper files win, later lines win, an excluded directory is not entered for its own rules."""
    paths = plant(repo.root, TREE)
    agree(
        repo.root,
        {".gitignore": b"*.py\n", "d/.gitignore": b"!b.py\n/foo\n", "d/e/.gitignore": b"*.py"},
        paths,
    )
    agree(repo.root, {".gitignore": b"d/e\n", "d/.gitignore": b"", "d/e/.gitignore": b"!foo\n!*"}, paths)
    agree(repo.root, {".gitignore": b"!foo\n", "d/.gitignore": b"e/foo\n", "d/e/.gitignore": b"/f/g"}, paths)


@pytest.mark.parametrize(
    "name",
    [
        "alnum",
        "alpha",
        "blank",
        "cntrl",
        "digit",
        "graph",
        "lower",
        "print",
        "punct",
        "space",
        "upper",
        "xdigit",
    ],
)
def test_named_classes_hold_the_bytes_git_says(repo: GitRepo, name: str) -> None:
    """EL-5: for every byte a file name can hold."""
    rules = b"x[[:%s:]]y" % name.encode()
    repo.write(".gitignore", rules)
    paths = [b"x%cy" % byte for byte in range(1, 256) if byte != ord("/")]
    ignore = Ignore([IgnoreRules.parse("", rules)])
    assert {path for path in paths if ignore.is_ignored(path, False)} == asked_git(repo.root, paths)


ATOMS = [
    "a",
    "b",
    "foo",
    "*",
    "**",
    "?",
    "/",
    "/",
    ".",
    "\\",
    "[ab]",
    "[!a]",
    "[a-f]",
    "[[:alpha:]]",
    "[",
    "]",
    "-",
]
LINE = st.builds(
    lambda bang, atoms, tail: bang + "".join(atoms) + tail,
    st.sampled_from(["", "", "", "!", "#", "\\"]),
    st.lists(st.sampled_from(ATOMS), min_size=1, max_size=7),
    st.sampled_from(["", "", "", "/", " ", "\\ ", "\r", "/**"]),
)
RULES = st.lists(LINE, min_size=1, max_size=6).map(lambda lines: "\n".join(lines).encode())
NAME = st.sampled_from(["a", "b", "ab", "foo", "fooa", "a.b", "b-", "[", "]", "é", "ba"])
PATH = st.lists(NAME, min_size=1, max_size=4).map("/".join)


def _check_generated(nested: dict[str, bytes], names: list[str]) -> None:
    # Leaves are files unless another name needs them as directories.
    wanted = {name for name in names if not any(other.startswith(name + "/") for other in names)}
    with tempfile.TemporaryDirectory() as where:
        root = Path(where)
        for name in ("objects", "refs"):  # the least that git takes for a repository
            (root / ".git" / name).mkdir(parents=True)
        (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
        paths = plant(root, sorted(wanted))
        agree(root, {name: data for name, data in nested.items() if (root / name).parent.is_dir()}, paths)


NESTED = st.fixed_dictionaries(
    {".gitignore": RULES}, optional={"a/.gitignore": RULES, "foo/.gitignore": RULES, "a/b/.gitignore": RULES}
)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(NESTED, st.lists(PATH, min_size=1, max_size=8, unique=True))
def test_generated_rules_agree_with_git(nested: dict[str, bytes], names: list[str]) -> None:
    """EL-5: any rule files, any tree."""
    _check_generated(nested, names)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(NESTED, st.lists(PATH, min_size=1, max_size=8, unique=True))
def test_many_generated_rules_agree_with_git(nested: dict[str, bytes], names: list[str]) -> None:
    """EL-5: the same, longer."""
    _check_generated(nested, names)


@pytest.mark.parametrize(
    "pattern",
    [b"*a" * 200 + b"b", b"**/" * 60 + b"b", b"*/" * 100 + b"x", b"**/*a*a*a*b/" * 30 + b"c", b"?*" * 100],
)
def test_hostile_patterns_answer_at_once(pattern: bytes) -> None:
    """EL-5 over untrusted input: no pattern makes matching explode."""
    ignore = Ignore([IgnoreRules.parse("", pattern)])
    paths = [b"/".join([b"a" * 250] * 12), b"a" * 250]
    matching = pattern == b"?*" * 100
    answers = [ignore.is_ignored(path, False) for path in paths]  # an exploding match would never come back
    assert answers == [matching, matching]


def test_str_and_bytes_paths_are_one() -> None:
    ignore = Ignore([IgnoreRules.parse("", "é*".encode())])
    assert ignore.is_ignored("éa", False)
    assert ignore.is_ignored("éa".encode(), False)
    assert not Ignore().is_ignored("éa", False)


def test_fingerprint_is_of_paths_and_bytes_in_order() -> None:
    """CF-2: order of discovery does not matter, every byte does, and files cannot run into each other."""
    one = fingerprint_rules({"a/.gitignore": b"x", ".gitignore": b"y"})
    assert one == fingerprint_rules({".gitignore": b"y", "a/.gitignore": b"x"})
    others = [
        {},
        {".gitignore": b"y"},
        {".gitignore": b"ya/.gitignore\0x"},
        {"a/.gitignore": b"y", ".gitignore": b"x"},
    ]
    assert len({one, *map(fingerprint_rules, others)}) == 5
