"""Full disks and read-only stores (SN-4): a named error, and the last good snapshot as good as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import harness, plain
from tests.support.gitrepo import GitRepo


def in_private_mounts(script: str) -> tuple[str, ...] | None:
    """A command prefix that runs under `script`'s mounts, seen by nobody else; None where the system forbids it."""
    tool = shutil.which("unshare")
    if tool is None:
        return None
    prefix = (tool, "--mount") if os.geteuid() == 0 else (tool, "--user", "--map-root-user", "--mount")
    whole = (*prefix, "sh", "-c", f'{script} && exec "$@"', "sh")
    works = subprocess.run([*whole, "true"], capture_output=True, check=False).returncode == 0
    return whole if works else None


def tiny_disk(home: Path, kib: int) -> tuple[str, ...]:
    """A prefix whose GITINDEX_HOME holds what `home` holds and `kib` more; a file-size limit where mounts are not allowed."""
    copy = home.with_name("copy")
    if copy.exists():
        shutil.rmtree(copy)
    shutil.copytree(home, copy)
    used = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file()) // 1024
    entries = sum(1 for _ in copy.rglob("*"))
    size = used + entries * 4 + kib
    script = f"mount -t tmpfs -o size={size}k none '{home}' && cp -a '{copy}/.' '{home}/'"
    return in_private_mounts(script) or ("sh", "-c", 'ulimit -f 8 && exec "$@"', "sh")


@pytest.fixture
def indexed(repo: GitRepo, home: Path) -> GitRepo:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return repo


@pytest.mark.parametrize(
    "room", [16, pytest.param(64, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("provider", ["none", pytest.param("fake", marks=pytest.mark.slow)])
def test_a_full_disk_is_named_and_harmless(room: int, provider: str, indexed: GitRepo, home: Path):
    """SN-4: whichever engine meets the end of the disk first."""
    if provider == "fake":
        indexed.commit("vectors", **{".gitindex.toml": "[embedding]\nprovider = 'fake'\n"})
        harness.index(indexed.root)
    for at in range(60):
        indexed.write(
            f"m{at}.py", "".join(f"def f_{at}_{n}(): return {os.urandom(8).hex()!r}\n" for n in range(120))
        )
    prefix = tiny_disk(home / ".gitindex", room)
    ran = plain.run("sync", "--json", "--path", str(indexed.root), prefix=prefix)
    assert ran.code == 1, ran.out
    assert ran.json["error"]["code"] == "storage_full", ran.out
    assert "last good snapshot" in ran.json["error"]["message"]
    assert ran.json["error"]["hint"]


def test_the_old_snapshot_answers_on_the_full_disk(indexed: GitRepo, home: Path):
    """SN-4: inside the same tiny disk: fail, then read, then succeed with less to do."""
    for at in range(60):
        indexed.write(
            f"m{at}.py", "".join(f"def f_{at}_{n}(): return {os.urandom(8).hex()!r}\n" for n in range(120))
        )
    digest = harness.digest_of(indexed.root).digest
    prefix = tiny_disk(home / ".gitindex", 64)
    script = home / "script.sh"
    script.write_text(
        f'g() {{ "{sys.executable}" -m gitindex "$@" --path "{indexed.root}"; }}\n'
        "g sync >/dev/null 2>&1; echo sync $?\n"
        "g audit --digest; echo audit $?\n"
        f'rm "{indexed.root}"/m*.py\n'
        "g sync >/dev/null 2>&1; echo sync $?\n"
        "g audit --digest; echo audit $?\n"
    )
    env = {**os.environ, "PYTHONPATH": str(plain.REPOSITORY)}
    done = subprocess.run([*prefix, "sh", str(script)], capture_output=True, env=env, check=False)
    lines = done.stdout.decode().split("\n")
    assert lines == ["sync 1", digest, "audit 0", "sync 0", digest, "audit 0", ""], done.stdout + done.stderr


def test_a_read_only_store_still_answers(indexed: GitRepo, home: Path):
    """SN-4, EN-5: readers need no write permission anywhere; writers say what is wrong."""
    store = home / ".gitindex"
    digest = harness.digest_of(indexed.root).digest
    folders = [Path(folder) for folder, _, _ in os.walk(store)]
    files = [Path(folder, name) for folder, _, names in os.walk(store) for name in names]
    try:
        for path in files:
            path.chmod(0o400)
        for path in reversed(folders):
            path.chmod(0o500)
        ran = plain.run("audit", "--json", "--path", str(indexed.root))
        assert (ran.code, ran.json["digest"]) == (0, digest), ran.out
        assert plain.run("status", "--path", str(indexed.root)).code == 0
        assert plain.run("health", "--path", str(indexed.root)).code == 0
        assert plain.run("sync", "--path", str(indexed.root)).code == 0, "nothing to do"
        indexed.write("b.py", "B = 1\n")
        ran = plain.run("sync", "--json", "--path", str(indexed.root))
        assert ran.code == 1
        assert ran.json["error"]["code"] == "store_unwritable", ran.out
        assert ran.json["error"]["hint"]
    finally:
        for path in folders:
            path.chmod(0o700)
        for path in files:
            path.chmod(0o600)
    assert harness.index(indexed.root).changes["add"] == 1


def test_a_home_that_cannot_be_made(repo: GitRepo, tmp_path: Path):
    """ST-2: the first sync says which directory it may not write."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    ran = plain.run("sync", "--json", "--path", str(repo.root), GITINDEX_HOME=str(closed / "home"))
    assert ran.code == 1
    assert ran.json["error"]["code"] == "store_unwritable", ran.out
    a_file = tmp_path / "file"
    a_file.write_text("")
    ran = plain.run("sync", "--json", "--path", str(repo.root), GITINDEX_HOME=str(a_file))
    assert ran.code == 1
    assert ran.json["error"]["code"] == "store_unwritable", ran.out


@pytest.mark.parametrize("place", ["/proc/gitindex", "/dev/null/gitindex"])
def test_a_home_that_cannot_be_made_is_named_and_nothing_else_is_done(
    place: str, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
):
    """`init` installs hooks only for an index that there is."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    before = (repo.git("config", "--list"), sorted((repo.root / ".git" / "hooks").glob("*")))
    monkeypatch.setenv("GITINDEX_HOME", place)
    ran = harness.cli("init", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["error"]["code"]) == (1, "store_unwritable")
    assert "GITINDEX_HOME" in ran.json["error"]["hint"]
    assert before == (repo.git("config", "--list"), sorted((repo.root / ".git" / "hooks").glob("*")))
