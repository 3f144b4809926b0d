"""What of a working tree gets into an index: decided by the user, narrowed by the repository (ST-3, CF-1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex import config
from gitindex.config import Settings
from gitindex.errors import ConfigError
from gitindex.model.settings import IndexSettings
from gitindex.ops.sharing.remote_session import published_fingerprint
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def working(repo: GitRepo) -> GitRepo:
    """A committed file, edited, and an untracked one."""
    repo.commit("one", **{"a.py": "def committed(): pass\n", "b.py": "B = 1\n"})
    repo.write("a.py", "def edited(): pass\n")
    repo.write("scratch.py", "def scratched(): pass\n")
    return repo


def configure(home: Path, text: str) -> None:
    path = home / ".gitindex/config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def find_names(repo: GitRepo) -> set[str]:
    """Which of the functions an index of the present tree holds."""
    at = ("--json", "--path", str(repo.root))
    assert harness.cli("sync", *at).code == 0
    wanted = ("committed", "edited", "scratched")
    return {name for name in wanted if harness.cli("symbol", name, *at).json["results"]}


SINGLE, SHARED = "", "shared = true\n"
CASES = [
    # user's configuration, the repository's, what is indexed
    (SINGLE, "", {"edited", "scratched"}),
    (SINGLE, "untracked = false\n", {"edited"}),
    (SINGLE + "[index]\ninclude_untracked = false\n", "untracked = true\n", {"edited"}),
    (SINGLE + "[index]\ninclude_untracked = true\n", "untracked = false\n", {"edited"}),
    (SINGLE, "clean_only = true\n", {"committed"}),
    (SINGLE + "[index]\nclean_only = true\n", "clean_only = false\nuntracked = true\n", {"committed"}),
    (SHARED, "", {"edited"}),
    (SHARED, "untracked = true\n", {"edited"}),
    (SHARED + "[index]\ninclude_untracked = true\n", "", {"edited", "scratched"}),
    (SHARED + "[index]\ninclude_untracked = true\n", "untracked = false\n", {"edited"}),
    (SHARED + "[index]\nclean_only = true\n", "clean_only = false\n", {"committed"}),
    (SHARED + "[index]\nclean_only = true\ninclude_untracked = true\n", "", {"committed"}),
    (SHARED, "clean_only = true\n", {"committed"}),
]


@pytest.mark.parametrize(("user", "file", "expected"), CASES)
def test_both_narrow_and_only_the_user_widens(
    working: GitRepo, home: Path, user: str, file: str, expected: set[str]
):
    """ST-3, CF-1."""
    if file:
        working.git("stash", "-q", "-u")
        working.commit("settings", **{".gitindex.toml": f"[index]\n{file}"})
        working.git("stash", "pop", "-q")
    configure(home, user)
    assert find_names(working) == expected


def test_clean_only_is_in_sync_with_its_commit(working: GitRepo, home: Path):
    """QU-6: nothing is pending, what is dirty is told; a commit brings the change in, whoever syncs."""
    configure(home, "[index]\nclean_only = true\n")
    assert find_names(working) == {"committed"}
    at = ("--json", "--path", str(working.root))
    status = harness.cli("status", *at).json
    assert (status["in_sync"], status["pending"], status["dirty_files"]) == (True, 0, 1)
    assert harness.cli("sync", *at).json["noop"]
    assert harness.cli("search", "edited", "--sync", *at).json["freshness"]["dirty_files"] == 1
    assert harness.audited(working.root).is_clean
    assert harness.cli("audit", "--rebuild", *at).code == 0
    working.git("commit", "-q", "-am", "two")
    assert find_names(working) == {"edited"}


def test_clean_only_without_a_commit(repo: GitRepo, home: Path):
    """An unborn branch has nothing that is committed."""
    configure(home, "[index]\nclean_only = true\n")
    repo.write("a.py", "def edited(): pass\n")
    assert harness.index(repo.root).counts["files"] == 0


def test_uncommitted_files_in_a_shared_index_are_told(working: GitRepo, home: Path):
    """ST-3: `status` and `health` name it with the next step, and that step ends it."""
    configure(home, "shared = true\n[index]\ninclude_untracked = true\n")
    find_names(working)
    at = ("--path", str(working.root))
    for command in ("status", "health"):
        (notice,) = harness.cli(command, "--json", *at).json["notices"]
        assert notice["code"] == "shared_dirty"
        assert notice["message"].startswith("2 uncommitted files are in this index")
        text = harness.cli(command, *at).out
        assert f"notice: {notice['message']}\n  next: gitindex sync --commit-only" in text
    assert harness.cli("sync", "--commit-only", *at).code == 0
    for command in ("status", "health"):
        assert harness.cli(command, "--json", *at).json["notices"] == []


@pytest.mark.parametrize("user", ["", "shared = true\n[index]\nclean_only = true\n"])
def test_others_are_not_warned(working: GitRepo, home: Path, user: str):
    """ST-3: a single-user index is nobody else's business, and a clean one has nothing to tell."""
    configure(home, user)
    find_names(working)
    assert harness.cli("status", "--json", "--path", str(working.root)).json["notices"] == []


@pytest.mark.parametrize("key", ["include_untracked", "clean_only"])
def test_wrong_types(repo: GitRepo, home: Path, key: str):
    """CF-1: in the user's file and in the repository's; the repository has no `include_untracked` at all."""
    configure(home, f"[index]\n{key} = 'yes'\n")
    with pytest.raises(ConfigError, match=f"index.{key}: must be true or false"):
        harness.codebase(repo.root)
    with pytest.raises(ConfigError, match=f"index.{key}: "):
        config.parse(f"[index]\n{key} = 'yes'\n".encode())


def test_what_is_fetched_does_not_depend_on_it():
    """CF-2, RE-3: a shared or clean index starts from the same published snapshots; the index itself is another one."""
    clean = Settings(index=IndexSettings(untracked=False, clean_only=True))
    assert published_fingerprint(clean) == published_fingerprint(Settings())
    assert config.config_fingerprint(clean) != config.config_fingerprint(Settings())


def test_clean_only_needs_git(working: GitRepo, home: Path):
    """ST-3, C-1: files that are scanned because git fails may be uncommitted, so they do not get in."""
    configure(home, "[index]\nclean_only = true\n")
    (working.root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (working.root / ".git/refs/heads/main").write_text("1" * 40 + "\n")
    ran = harness.cli("sync", "--json", "--path", str(working.root))
    assert (ran.code, ran.json["error"]["code"]) == (1, "git_damaged"), ran.out
