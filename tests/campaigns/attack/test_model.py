"""CF-4: a repository cannot make us run a model's code, and cannot point at a model of its own."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from gitindex.config import load_environment
from gitindex.errors import ConfigError, EmbeddingError
from gitindex.extract.embed.embedders import open_embedder
from gitindex.model.settings import EmbedSettings
from gitindex.ops import models
from gitindex.ops.codebase import open_codebase
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.support.models import bundled_model

PIN = "c" * 40


def asking(repo: GitRepo, provider: str, **files: str) -> GitRepo:
    repo.commit(
        "model", **{".gitindex.toml": f"[embedding]\nprovider = '{provider}'\n", "a.py": "A = 1\n", **files}
    )
    return repo


def user_model(home: Path, name: str, directory: Path) -> None:
    (home / ".gitindex").mkdir(exist_ok=True, mode=0o700)
    (home / ".gitindex" / "config.toml").write_text(
        f"[models]\n{json.dumps(name)} = {json.dumps(str(directory))}\n"
    )


def hostile_model(where: Path, canary: Path) -> Path:
    """A model whose only module is code of its own, as versions before 6 imported it from a directory."""
    where.mkdir(parents=True)
    code = f"open({str(canary)!r}, 'w').write('ran')\nclass Evil: pass\n"
    (where / "evil.py").write_text(code)
    module = {"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}
    (where / "modules.json").write_text(json.dumps([module]))
    (where / "config.json").write_text('{"model_type": "bert"}')
    return where


@pytest.mark.parametrize(
    "model",
    ["./model", "model/", "../model", "/tmp/model", "~/model", "a/b/c", "org/..", ".hidden/model", "file:x"],
)
def test_a_path_is_no_model(model: str, repo: GitRepo):
    """CF-4: whether or not there is such a directory."""
    asking(repo, f"sentence-transformers:{model}", **{"model/modules.json": "[]"})
    ran = harness.cli("sync", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad_config")
    assert "config.toml" in ran.json["error"]["message"]


@pytest.mark.parametrize(
    "model", ["model", "org/model", "org/model@main", f"model@{PIN}", f"org/model@{PIN[:12]}"]
)
def test_a_name_without_a_full_pin_is_the_user_s_to_map(
    model: str, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
):
    """CF-4: also where the name is a directory of the repository, and we stand in it."""
    asking(
        repo, f"sentence-transformers:{model}", **{"org/model/modules.json": "[]", "model/modules.json": "[]"}
    )
    monkeypatch.chdir(repo.root)
    ran = harness.cli("sync", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad_config")
    assert "[models]" in ran.json["error"]["hint"]


def test_a_pinned_name_is_accepted_and_is_its_own_identity(repo: GitRepo):
    """CF-4"""
    asking(repo, f"sentence-transformers:org/model@{PIN}")
    settings = open_codebase(repo.root, load_environment()).settings.embedding
    assert (settings.model, settings.revision, settings.directory) == ("org/model", PIN, "")


def test_a_mapped_model_is_identified_by_everything_in_it(repo: GitRepo, home: Path, tmp_path: Path):
    """CF-4, CF-2: one changed byte of the weights, of the same size, is another index; where it lies does not matter."""
    asking(repo, "sentence-transformers:mine")
    seen = []
    for folder, name, data in (
        ("one", "x.bin", "0"),
        ("two", "x.bin", "0"),
        ("three", "x.bin", "1"),
        ("four", "y", "0"),
    ):
        where = tmp_path / folder / "deep"
        where.mkdir(parents=True)
        (where / name).write_text(data * 1000)
        user_model(home, "mine", where.parent)
        codebase = open_codebase(repo.root, load_environment())
        assert codebase.settings.embedding.directory == str(where.parent)
        seen.append(codebase.fingerprint)
    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


def test_a_change_with_the_old_times_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """CF-4: the kept hash counts only for files nobody has touched since."""
    weights = tmp_path / "model" / "w.bin"
    weights.parent.mkdir()
    weights.write_text("aaaa")
    monkeypatch.setattr(models, "_SETTLED_NS", -1)  # as if the file were old
    settings = EmbedSettings("sentence-transformers", "m")

    def revision() -> str:
        known = {"m": str(weights.parent)}
        return models.resolve_model(settings, known, tmp_path / "repo", tmp_path / "home").revision

    first, times = revision(), weights.stat()
    with monkeypatch.context() as patch:
        patch.setattr(models, "_hash_files", lambda *_: pytest.fail("hashed again"))
        assert revision() == first
    weights.write_text("bbbb")
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert revision() != first


def test_a_fresh_file_is_hashed_each_time(tmp_path: Path):
    """CF-4: two changes within one tick of the clock leave the same times."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "w.bin").write_text("a")
    settings = EmbedSettings("sentence-transformers", "m")
    models.resolve_model(settings, {"m": str(tmp_path / "model")}, tmp_path / "repo", tmp_path / "home")
    assert not (tmp_path / "home" / models.CACHE).exists()


def test_a_mapped_model_neither_lies_in_the_repository_nor_leads_out(
    repo: GitRepo, home: Path, tmp_path: Path
):
    """CF-4: what a pull could change is the repository's, not the user's."""
    asking(repo, "sentence-transformers:mine", **{"model/modules.json": "[]"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "weights").symlink_to(repo.root / "model" / "modules.json")
    (tmp_path / "link").symlink_to(repo.root / "model")
    for where in (repo.root / "model", tmp_path / "link", outside, tmp_path / "absent"):
        user_model(home, "mine", where)
        with pytest.raises(ConfigError) as caught:
            open_codebase(repo.root, load_environment())
        assert caught.value.hint


@pytest.mark.models
@pytest.mark.slow
def test_a_model_s_own_code_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """CF-4: not even of a directory that the user named."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    where = hostile_model(tmp_path / "model", tmp_path / "canary")
    model = open_embedder(EmbedSettings("sentence-transformers", "mine", directory=str(where)))
    assert model is not None
    with pytest.raises(EmbeddingError, match="mine"):
        model.embed(["x"])
    assert not (tmp_path / "canary").exists()


@pytest.mark.models
@pytest.mark.slow
def test_a_directory_of_the_hub_s_name_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """CF-4: sentence-transformers prefers a directory; a real model stands there, and is not taken."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    shutil.copytree(bundled_model(), tmp_path / "org" / "model")
    monkeypatch.chdir(tmp_path)
    model = open_embedder(EmbedSettings("sentence-transformers", "org/model", PIN))
    assert model is not None
    with pytest.raises(EmbeddingError, match="org/model"):
        model.embed(["x"])


@pytest.mark.models
@pytest.mark.slow
def test_a_mapped_model_indexes_and_answers(repo: GitRepo, home: Path):
    """CF-4: the whole way with a real model."""
    asking(
        repo,
        "sentence-transformers:minilm",
        **{"b.py": "def read_file(path):\n    return open(path).read()\n"},
    )
    user_model(home, "minilm", bundled_model())
    assert harness.cli("sync", "--json", "--path", str(repo.root)).code == 0
    found = harness.cli("search", "load contents from disk", "--json", "--path", str(repo.root))
    assert found.code == 0, found.out
    assert found.json["results"][0]["path"] == "b.py"
