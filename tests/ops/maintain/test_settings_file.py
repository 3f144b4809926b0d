"""CF-1, CF-2: what the user wrote stays, and defaults are written as comments."""

from __future__ import annotations

from gitindex.ops.maintain.settings_file import write_settings
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase


def test_missing_tables_are_added_once_and_change_no_setting(repo: GitRepo):
    mine = b"# mine\n[query]\nlimit = 7\n"
    repo.write(".gitindex.toml", mine)
    before = codebase(repo.root)
    assert write_settings(before)
    written = (repo.root / ".gitindex.toml").read_bytes()
    assert written.startswith(mine + b"\n[index]\n# include = ")
    assert written.count(b"[query]") == 1
    after = codebase(repo.root)
    assert (after.fingerprint, after.settings) == (before.fingerprint, before.settings)
    assert not write_settings(after)
    assert (repo.root / ".gitindex.toml").read_bytes() == written
