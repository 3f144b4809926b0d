"""What `build`, `push`, `fetch`, `merge`, `verify` and `remote` say."""

from __future__ import annotations

import click
import pytest

from gitindex.cli import cmd_build, cmd_fetch, cmd_merge, cmd_push, cmd_remote, cmd_verify
from gitindex.errors import UsageError
from gitindex.model.manifest import GitFailure
from gitindex.ops.sharing.build_options import BuildReport, Shard
from gitindex.ops.sharing.fetch_report import FetchReport
from gitindex.ops.sharing.push import PushReport

COMMIT = "a" * 40
BUILD = {
    "status": "ok",
    "commit": COMMIT,
    "tree": "t",
    "repository": "r",
    "snapshot_id": "01S",
    "base": "local",
    "base_commit": "b" * 40,
    "noop": False,
    "changes": {"add": 1200, "modify": 0},
    "counts": {"files": 1, "chunks": 2},
    "languages": {"python": 3, "go": 5},
    "skipped": {},
    "segments": 1,
    "bytes": {},
    "elapsed_ms": 1500,
    "config_fingerprint": "f",
    "note": "",
    "semantic": (),
}
PUSH = {
    "status": "ok",
    "commit": COMMIT,
    "repository": "r",
    "remote": "s3://b/p",
    "manifest": "created",
    "objects": {"uploaded": 2, "reused": 3},
    "bytes": {"uploaded": 2048, "reused": 0},
    "signers": ("SHA256:x",),
    "successors": ("SHA256:y",),
    "elapsed_ms": 1000,
}
FETCH = {
    "status": "ok",
    "base_commit": COMMIT,
    "target_commit": "b" * 40,
    "distance": 1,
    "objects": {"downloaded": 1, "reused": 0},
    "bytes": {"downloaded": 10, "reused": 0},
    "caught_up": {"add": 0, "modify": 2},
    "signer": "SHA256:x",
    "elapsed_ms": 10,
    "snapshot_id": "01S",
    "remote": "s3://b/p",
    "repository": "r",
    "built_ms": 3000,
    "builder": "ci",
    "saved_ms": 2990,
    "rotated": (),
    "passed_over": ({"code": "untrusted", "message": "bad signature"},),
}


def test_a_shard_is_two_numbers():
    assert cmd_build._parse_shard("") is None
    assert cmd_build._parse_shard("2/16") == Shard(2, 16)
    for text in ("2", "2/", "a/b", "1/2/3", "1/2000"):
        with pytest.raises(UsageError):
            cmd_build._parse_shard(text)


def test_a_build_says_what_changed_and_from_where():
    text = cmd_build._render_text(BuildReport(**BUILD))
    assert text.startswith(
        "built aaaaaaaaaaaa as 01S, from local bbbbbbbbbbbb: 1,200 add\n1 file, 2 chunks, 1 segment"
    )
    assert text.endswith("\nnext: gitindex push")
    again = cmd_build._render_text(BuildReport(**{**BUILD, "noop": True, "base_commit": None, "changes": {}}))
    assert again.startswith("already built aaaaaaaaaaaa as 01S, from nothing\n")


def test_the_summary_lists_languages_by_size():
    rows = dict(cmd_build._summary_rows(BuildReport(**BUILD)))
    assert rows["languages"] == "go 5, python 3"
    assert rows["skipped"] == "nothing"
    assert rows["time"] == "1.5 s"


def test_a_push_names_its_successors_and_whether_anything_was_new():
    text = cmd_push._render_text(PushReport(**PUSH))
    assert text.startswith("pushed aaaaaaaaaaaa to s3://b/p\n")
    assert "2.0 KiB in 2 objects" in text
    assert text.endswith("successor key: SHA256:y")
    exists = PushReport(**{**PUSH, "manifest": "exists", "successors": ()})
    assert cmd_push._render_text(exists).startswith("already published: aaaaaaaaaaaa")


def test_a_fetch_says_what_it_skipped_and_saved():
    text = cmd_fetch.report_text(FetchReport(**FETCH))
    assert "aaaaaaaaaaaa, 1 commit behind bbbbbbbbbbbb" in text
    assert "2 modify" in text
    assert "add" not in text
    assert "building took 3.0 s, so this saved 3.0 s" in text
    assert text.endswith("skipped: bad signature")


def test_a_fetch_without_an_ancestor_and_without_git_says_both():
    failure = GitFailure("git_damaged", "index", "the index is corrupt", "git reset")
    report = FetchReport(**{**FETCH, "distance": None, "saved_ms": 0, "fallback": failure})
    text = cmd_fetch.report_text(report)
    assert "no ancestor of bbbbbbbbbbbb" in text
    assert "saved" not in text
    assert text.endswith("next: git reset, then gitindex sync")


@pytest.mark.parametrize(
    ("run", "option"),
    [(cmd_merge.run, "rev"), (cmd_verify.run, "deep"), (cmd_remote.run.commands["gc"], "dry_run")],
)
def test_every_option_says_what_it_is(run, option: str):
    helps = {item.name: item.help for item in run.params if isinstance(item, click.Option)}
    assert all(helps.values()), helps
    assert option in helps
