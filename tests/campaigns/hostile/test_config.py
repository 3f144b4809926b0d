"""`.gitindex.toml` is untrusted input (CF-1): every mistake is exit 2 with line and key, and nothing widens scope."""

from __future__ import annotations

import pytest

from gitindex import config
from gitindex.errors import ConfigError
from tests.support import harness
from tests.support.gitrepo import GitRepo

BROKEN: dict[str, tuple[bytes, int, str]] = {
    # name: (bytes, line, what the message must name)
    "unknown table": (b"[index]\n[trust]\nkeys = []\n", 2, "trust"),
    "unknown top key": (b"limit = 3\n", 1, "limit"),
    "unknown key": (b"[index]\nuntracked = true\nincluded = []\n", 3, "index.included"),
    "unknown dotted key": (b"index.included = []\n", 1, "index.included"),
    "unknown query key": (b"[query]\nranking = 'x'\n", 2, "query.ranking"),
    "secret in remote": (b"[remote]\nurl = 's3://b/p'\nsecret_key = 'x'\n", 3, "remote.secret_key"),
    "trusted keys": (b"[remote]\ntrusted = ['x']\n", 2, "remote.trusted"),
    "table is a number": (b"index = 3\n", 1, "index"),
    "table is a list": (b"[[index]]\nuntracked = true\n", 1, "index"),
    "flag is text": (b"[index]\nuntracked = 'yes'\n", 2, "index.untracked"),
    "number is text": (b"[index]\n\nmax_file_bytes = '10'\n", 3, "index.max_file_bytes"),
    "number is a flag": (b"[index]\nmax_file_bytes = true\n", 2, "index.max_file_bytes"),
    "number is a fraction": (b"[index]\nmax_file_bytes = 1.5\n", 2, "index.max_file_bytes"),
    "list is text": (b"[index]\nexclude = '*.py'\n", 2, "index.exclude"),
    "list of numbers": (b"[index]\nexclude = [1]\n", 2, "index.exclude"),
    "text is a number": (b"[embedding]\nprovider = 3\n", 2, "embedding.provider"),
    "raised file limit": (b"[index]\nmax_file_bytes = 10485761\n", 2, "index.max_file_bytes"),
    "raised chunk limit": (b"[index]\nmax_chunks_per_file = 2001\n", 2, "index.max_chunks_per_file"),
    "raised sync limit": (b"[index]\nmax_sync_bytes = 268435457\n", 2, "index.max_sync_bytes"),
    "negative limit": (b"[index]\nmax_file_bytes = -1\n", 2, "index.max_file_bytes"),
    "huge number": (b"[query]\nlimit = 99999999999999999999\n", 2, "query.limit"),
    "absolute include": (b"[index]\ninclude = ['/etc/*']\n", 2, "index.include"),
    "escaping include": (b"[index]\ninclude = ['a/../../x']\n", 2, "index.include"),
    "negated exclude": (b"[index]\nexclude = ['!secret']\n", 2, "index.exclude"),
    "empty glob": (b"[index]\nexclude = ['']\n", 2, "index.exclude"),
    "nul in a glob": (b'[index]\nexclude = ["a\\u0000b"]\n', 2, "index.exclude"),
    "unknown provider": (b"[embedding]\nprovider = 'openai'\n", 2, "embedding.provider"),
    "provider without model": (b"[embedding]\nprovider = 'sentence-transformers'\n", 2, "embedding.provider"),
    "remote scheme": (b"[remote]\nurl = 'https://evil.example/x'\n", 2, "remote.url"),
    "not toml": (b"[index]\nuntracked = \n", 2, "line 2"),
    "key twice": (b"[index]\nuntracked = true\nuntracked = false\n", 3, "line 3"),
    "table twice": (b"[index]\n[index]\n", 2, "line 2"),
}
WHOLE: dict[str, bytes] = {
    "not utf-8": b"[index]\nexclude = ['\xff']\n",
    "utf-16": "[index]\n".encode("utf-16"),
    "nul": b"[index]\0\n",
    "too large": b"# " + b"x" * 70_000,
    "binary": bytes(range(256)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_mistake_names_line_and_key(name: str):
    """CF-1."""
    data, line, named = BROKEN[name]
    with pytest.raises(ConfigError) as caught:
        config.parse(data)
    assert f"line {line}" in caught.value.message
    assert named in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_is_no_configuration_at_all(name: str):
    """CF-1."""
    with pytest.raises(ConfigError) as caught:
        config.parse(WHOLE[name])
    assert ".gitindex.toml" in caught.value.message


def test_the_command_line_says_it_and_touches_nothing(repo: GitRepo):
    """CF-1, UI-1: text and JSON, exit 2; the index of the good configuration stays."""
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    before = harness.digest_of(repo.root)
    repo.write(".gitindex.toml", "[index]\nincluded = []\n")
    for command in ("sync", "status", "audit", "repair", "init", "health"):
        ran = harness.cli(command, "--json", "--path", str(repo.root))
        assert ran.code == 2, command
        assert ran.json["error"]["code"] == "bad_config"
        assert "line 2: index.included" in ran.json["error"]["message"]
    ran = harness.cli("sync", "--path", str(repo.root))
    assert ran.code == 2
    assert "index.included" in ran.err
    assert ran.out == ""
    (repo.root / ".gitindex.toml").unlink()
    assert harness.digest_of(repo.root) == before


def test_a_configuration_that_is_a_link_or_a_directory(repo: GitRepo, tmp_path):
    """CF-1, EL-3: the file is read below the root or not at all."""
    (tmp_path / "outside.toml").write_text("[query]\nlimit = 3\n")
    repo.commit("first", **{"a.py": "A = 1\n"})
    (repo.root / ".gitindex.toml").symlink_to(tmp_path / "outside.toml")
    assert harness.cli("sync", "--json", "--path", str(repo.root)).code == 2
    (repo.root / ".gitindex.toml").unlink()
    (repo.root / ".gitindex.toml").mkdir()
    assert harness.cli("sync", "--json", "--path", str(repo.root)).code == 2


def test_includes_override_no_other_rule(repo: GitRepo):
    """CF-1, EL-1: an include admits unknown files; it opens neither ignored, binary, large nor outside ones."""
    repo.commit(
        "first",
        **{
            ".gitindex.toml": "[index]\ninclude = ['**/*']\nmax_file_bytes = 500\n",
            ".gitindexignore": "secret/\n",
            ".gitignore": "ignored.xyz\n",
            "known.xyz": "plain words\n",
            "secret/a.py": "A = 1\n",
            "binary.xyz": b"\0\1\2",
            "large.xyz": "x" * 501,
        },
    )
    repo.write("ignored.xyz", "words\n")
    (repo.root / "out.xyz").symlink_to("/etc/hostname")
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        found = {record.path: record.skip for record in view.records()}
    assert found["known.xyz"] == ""
    assert found["secret/a.py"] == "ignored"
    assert found["binary.xyz"] == "binary"
    assert found["large.xyz"] == "too_large"
    assert found["out.xyz"] == "out_of_root"
    assert "ignored.xyz" not in found


def test_global_ignores_do_not_matter(repo: GitRepo, home):
    """CF-3: neither core.excludesFile nor .git/info/exclude."""
    (home / "global").write_text("*.py\n")
    repo.git("config", "core.excludesFile", str(home / "global"))
    repo.write(".git/info/exclude", "b.*\n")
    repo.commit("first", **{".gitignore": "c.py\n"})
    for name in "abc":
        repo.write(f"{name}.py", "X = 1\n")
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        assert {record.path for record in view.records() if not record.skip} >= {"a.py", "b.py"}
        assert view.record("c.py") is None


def test_writing_the_settings_down_keeps_the_index(repo: GitRepo):
    """CF-2: the fingerprint covers the tables of the file, so defaults are written as comments."""
    repo.commit("first", **{"a.py": "A = 1\n"})
    before = harness.codebase(repo.root)
    harness.index(repo.root)
    ran = harness.cli("init", "--write-config", "--no-hooks", "--json", "--path", str(repo.root))
    assert ran.code == 0, ran.out
    assert (ran.json["store_id"], ran.json["parent_snapshot_id"] is None) == (before.layout.id, False)
    text = (repo.root / ".gitindex.toml").read_text()
    assert "[index]\n# include = []\n" in text
    assert "\n[query]\n# limit = 10\n" in text
    assert harness.cli("init", "--write-config", "--no-hooks", "--path", str(repo.root)).code == 0
    assert (repo.root / ".gitindex.toml").read_text() == text


def test_writing_the_settings_down_keeps_what_was_written(repo: GitRepo):
    """CF-1: bytes of the user stay; what they set still counts."""
    mine = "# mine\n[embedding]\nprovider = 'none'  # small\n"
    repo.commit("first", **{"a.py": "A = 1\n", ".gitindex.toml": mine})
    before = harness.codebase(repo.root)
    harness.cli("init", "--write-config", "--no-hooks", "--path", str(repo.root))
    assert (repo.root / ".gitindex.toml").read_text().startswith(mine)
    after = harness.codebase(repo.root)
    assert (after.fingerprint, after.settings) == (before.fingerprint, before.settings)
