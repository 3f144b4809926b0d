"""Names nobody should use, and somebody does (EL-1, EL-2, CS-1): indexed, or skipped with a reason; never dropped."""

from __future__ import annotations

import os
import socket
import unicodedata
from pathlib import Path

from tests.support import harness
from tests.support.gitrepo import GitRepo


def paths_of(root: Path) -> dict[str, str]:
    """path → skip reason ("" when indexed)."""
    with harness.view(root) as view:
        return {record.path: record.skip for record in view.records()}


def test_names_with_newlines_quotes_and_spaces_are_plain_names(repo: GitRepo):
    """CS-1: paths travel as bytes, so no quoting can go wrong."""
    names = [
        "new\nline.py",
        'quo"te.py',
        "back\\slash.py",
        " leading.py",
        "tab\there.py",
        "-dash.py",
        "*.py",
        "ü.py",
    ]
    repo.commit("odd names", **{name: f"def f{at}(): pass\n" for at, name in enumerate(names)})
    harness.index(repo.root)
    assert paths_of(repo.root) == dict.fromkeys(names, "")
    repo.write("new\nline.py", "def changed(): pass\n")
    repo.git("mv", 'quo"te.py', "quo'te.py")
    report = harness.index(repo.root)
    assert report.changes == {"add": 0, "modify": 1, "delete": 0, "rename": 1}
    assert harness.audited(repo.root).is_clean


def test_a_name_that_is_not_utf8_is_a_counted_skip(repo: GitRepo):
    """EL-1, EL-2: committed or not."""
    (repo.root / os.fsdecode(b"caf\xe9.py")).write_text("A = 1\n")
    repo.commit("latin-1 name", **{"ok.py": "B = 1\n"})
    (repo.root / os.fsdecode(b"dirty\xff.py")).write_text("C = 1\n")
    harness.index(repo.root)
    assert paths_of(repo.root) == {"ok.py": "", "caf\\xe9.py": "bad_path", "dirty\\xff.py": "bad_path"}
    status = harness.cli("status", "--json", "--path", str(repo.root)).json
    assert status["skipped"] == {"bad_path": 2}
    assert status["skipped_files"]["bad_path"] == ["caf\\xe9.py", "dirty\\xff.py"]
    assert harness.cli("status", "--path", str(repo.root)).code == 0
    assert harness.index(repo.root).noop


def test_case_collisions_block_a_strict_publish_and_name_both(repo: GitRepo):
    """EL-2, SN-5."""
    repo.commit("fine", **{"Readme.md": "# One\n"})
    harness.index(repo.root)
    repo.commit("collides", **{"README.md": "# Two\n", "other.py": "X = 1\n"})
    ran = harness.cli("sync", "--json", "--path", str(repo.root))
    assert ran.code == 1
    assert ran.json["error"]["code"] == "publish_blocked"
    assert "README.md" in ran.json["error"]["message"]
    assert "Readme.md" in ran.json["error"]["message"]
    assert paths_of(repo.root) == {"Readme.md": ""}

    ran = harness.cli("sync", "--json", "--allow-degraded", "--path", str(repo.root))
    assert ran.code == 0
    assert ran.json["degraded"]
    assert [error["code"] for error in ran.json["errors"]] == ["case_collision"]
    assert set(paths_of(repo.root)) == {"Readme.md", "README.md", "other.py"}
    status = harness.cli("status", "--json", "--path", str(repo.root)).json
    assert status["degraded"]
    assert status["errors"][0]["path_key"] in ("README.md", "Readme.md")

    assert harness.cli("sync", "--path", str(repo.root)).code == 1, "still collides"
    repo.git("rm", "-q", "README.md")
    assert harness.cli("sync", "--path", str(repo.root)).code == 0
    assert not harness.cli("status", "--json", "--path", str(repo.root)).json["degraded"]
    assert harness.audited(repo.root).is_clean


def test_a_collision_within_the_first_build_is_seen_too(repo: GitRepo):
    """EL-2: directories collide as well as files."""
    repo.commit("collides", **{"Lib/a.py": "A = 1\n", "lib/a.py": "A = 2\n"})
    ran = harness.cli("sync", "--json", "--path", str(repo.root))
    assert ran.code == 1
    assert "Lib/a.py" in ran.json["error"]["message"]
    assert "lib/a.py" in ran.json["error"]["message"]


def health_of(repo: GitRepo) -> tuple[int, list[dict]]:
    ran = harness.cli("health", "--json", "--path", str(repo.root))
    return ran.code, ran.json["collisions"]


def test_health_lists_collisions(repo: GitRepo):
    """EL-2: those that block the next sync, and those that a degraded one let in, with every colliding path."""
    repo.commit("fine", **{"Readme.md": "# One\n"})
    harness.index(repo.root)
    assert health_of(repo) == (0, [])
    repo.commit("collides", **{"README.md": "# Two\n", "Lib/a.py": "A = 1\n", "lib/a.py": "A = 2\n"})
    pairs = [["Lib/a.py", "lib/a.py"], ["README.md", "Readme.md"]]
    told = [{"kind": "case", "paths": pair, "stored": False} for pair in pairs]
    assert health_of(repo) == (0, told)
    harness.index(repo.root, allow_degraded=True)
    assert health_of(repo) == (0, [{**one, "stored": True} for one in told])
    text = harness.cli("health", "--path", str(repo.root)).out
    assert "collision: 'README.md' and 'Readme.md' differ only in case" in text
    repo.write(".gitindexignore", "/README.md\n/lib\n")
    harness.index(repo.root)
    assert health_of(repo) == (0, [])


def test_health_lists_two_spellings_of_one_name(repo: GitRepo):
    """EL-2: also when the one that counts is stored."""
    composed, decomposed = (unicodedata.normalize(form, "é.py") for form in ("NFC", "NFD"))
    repo.git("config", "core.precomposeunicode", "false")
    repo.commit("twins", **{composed: "A = 1\n", decomposed: "B = 2\n"})
    harness.index(repo.root, allow_degraded=True)
    told = {"kind": "normalisation", "paths": [composed, decomposed], "stored": False}
    assert health_of(repo) == (0, [told])


def test_nfc_and_nfd_twins(repo: GitRepo):
    """EL-2: one path key, two spellings on disk: told apart, reported, healed by removing one."""
    composed, decomposed = (unicodedata.normalize(form, "é.py") for form in ("NFC", "NFD"))
    repo.git("config", "core.precomposeunicode", "false")
    repo.commit("twins", **{composed: "A = 1\n", decomposed: "B = 2\n"})
    assert len(list(repo.root.glob("*.py"))) == 2
    ran = harness.cli("sync", "--json", "--path", str(repo.root))
    assert ran.code == 1
    assert ran.json["error"]["code"] == "publish_blocked"
    ran = harness.cli("sync", "--json", "--allow-degraded", "--path", str(repo.root))
    assert [error["code"] for error in ran.json["errors"]] == ["nfc_twin"]
    assert paths_of(repo.root) == {composed: ""}
    repo.git("rm", "-q", composed)
    assert harness.cli("sync", "--path", str(repo.root)).code == 0
    with harness.view(repo.root) as view:
        assert [document.text for document in view.lexical.iter_documents() if document.kind == "text"] == [
            "B = 2"
        ]
    assert harness.audited(repo.root).is_clean


def test_special_files_are_never_opened(tmp_path: Path):
    """EL-1: a fifo would block a reader for ever; without git the walk meets it."""
    root = tmp_path / "plain"
    root.mkdir()
    os.mkfifo(root / "pipe.py")
    (root / "real.py").write_text("A = 1\n")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "sock.py"))
        harness.index(root)
    assert paths_of(root) == {"pipe.py": "not_a_file", "sock.py": "not_a_file", "real.py": ""}


def test_a_file_that_became_a_fifo(repo: GitRepo):
    """EL-1: git reports a type change; nobody opens the pipe."""
    repo.commit("file", **{"a.py": "A = 1\n", "b.py": "B = 1\n"})
    harness.index(repo.root)
    (repo.root / "a.py").unlink()
    os.mkfifo(repo.root / "a.py")
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        assert {document.path for document in view.lexical.iter_documents()} == {"b.py"}


def test_deep_and_long_paths(repo: GitRepo):
    """EL-1: as deep as the file system allows a relative path to be."""
    deep = "/".join(["d" * 20] * 60) + "/leaf.py"
    long = "n" * 250 + ".py"
    repo.commit("deep", **{deep: "A = 1\n", long: "B = 1\n"})
    harness.index(repo.root)
    assert paths_of(repo.root) == {deep: "", long: ""}
