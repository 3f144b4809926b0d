"""Contents nobody should commit, and somebody does (EL-1, SN-5): indexed within limits, or skipped with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns.hostile.test_names import paths_of
from tests.support import harness
from tests.support.gitrepo import GitRepo

MIB = 1 << 20
LFS = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
CONTENTS: dict[str, tuple[bytes, str]] = {
    "large.py": (b"# padding\n" * (11 * MIB // 10), "too_large"),
    "nul.py": (b"A = 1\n\0\nB = 2\n", "binary"),
    "late_nul.py": (b"A = 1\n" * 2000 + b"\0", "binary"),
    "picture.png": (b"\x89PNG\r\n\x1a\n\0\0\0", "unsupported"),
    "noise.txt": (bytes(range(1, 9)) * 600, "binary"),
    "latin1.py": ("# caf\xe9\n".encode("latin-1"), "encoding"),
    "utf16.py": ("A = 1\n".encode("utf-16"), "encoding"),
    "cut.py": ("# caf\xe9".encode()[:-1], "encoding"),
    "surrogate.py": (b"A = '\xed\xa0\x80'\n", "encoding"),
    "overlong.py": (b"A = '\xc0\xaf'\n", "encoding"),
    "bom.py": (b"\xef\xbb\xbfdef with_bom(): pass\n", ""),
    "crlf.py": (b"def dos():\r\n    pass\r\n", ""),
    "cr.py": (b"def mac():\r    pass\r", ""),
    "empty.py": (b"", ""),
    "weights.txt": (LFS.encode(), "lfs_pointer"),
    "half.py": (b"def whole(): pass\n\ndef half(a, b=[", ""),
    "controls.md": (b"# \xe2\x80\xae txt.exe \xe2\x80\xac\n\x1b[31mred\n", ""),
    "astral.py": ("def 𝒻𝓊𝓃(): return '👩‍👩‍👧‍👦'\n".encode(), ""),
}


def test_every_content_has_its_fate(repo: GitRepo):
    """EL-1: by committed blob and by working-tree read alike, with the same outcome."""
    repo.commit("hostile", **{name: data for name, (data, _) in CONTENTS.items()})
    harness.index(repo.root)
    expected = {name: skip for name, (_, skip) in CONTENTS.items()}
    assert paths_of(repo.root) == expected
    status = harness.cli("status", "--json", "--path", str(repo.root)).json
    assert sum(status["skipped"].values()) == sum(map(bool, expected.values()))
    assert status["skipped_files"]["too_large"] == ["large.py"]
    assert harness.audited(repo.root).is_clean


def test_every_content_has_its_fate_without_git(tmp_path: Path):
    """EL-1, EL-6, CS-6."""
    root = tmp_path / "plain"
    root.mkdir()
    for name, (data, _) in CONTENTS.items():
        (root / name).write_bytes(data)
    harness.index(root)
    assert paths_of(root) == {name: skip for name, (_, skip) in CONTENTS.items()}


def test_chunks_point_at_their_bytes(repo: GitRepo):
    """SN-1: with a BOM, CRLF, CR and astral characters too, byte ranges lie inside the file and lines are right."""
    names = ("bom.py", "crlf.py", "cr.py", "astral.py", "half.py")
    repo.commit("hostile", **{name: CONTENTS[name][0] for name in names})
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        for batch in view.chunk_batches(0):
            for row in batch.to_pylist():
                data = CONTENTS[row["path_key"]][0]
                assert 0 <= row["byte_start"] <= row["byte_end"] <= len(data)
                if row["kind"] == "text":
                    assert row["text"] == data[row["byte_start"] : row["byte_end"]].decode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("brackets.py", b"x = " + b"[" * 100_000 + b"]" * 100_000),
        ("open.js", b"(" * 100_000),
        ("nested.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        ("nested.yaml", b"".join(b" " * at + b"a:\n" for at in range(600))),
        ("indent.py", b"".join(b" " * at + b"if x:\n" for at in range(600))),
        ("quotes.md", b">" * 100_000),
        ("generic.rs", b"type A = " + b"Vec<" * 30_000),
        ("strings.sh", b"$(" * 50_000),
        ("front.md", b"---\n" + b"[" * 20_000 + b"\n---\n# T\n"),
        ("bomb.md", b"---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n---\n# T\n"),
    ],
)
def test_deep_nesting_is_no_crash(repo: GitRepo, name: str, data: bytes):
    """EL-1: what parses is kept, nothing overflows a stack, and the file is still found as text."""
    repo.commit("deep", **{name: data, "ok.py": "def fine(): pass\n"})
    report = harness.index(repo.root)
    assert report.counts["files"] == 2
    assert harness.audited(repo.root).is_clean


@pytest.mark.parametrize("keys", [100_000, pytest.param(400_000, marks=pytest.mark.slow)])
def test_one_huge_line(repo: GitRepo, keys: int):
    """CF-1: a line of megabytes gives bounded chunks, and no more of them than a file may have."""
    line = ",".join(f"key{at}:{at}" for at in range(keys)).encode()
    repo.commit("minified", **{"bundle.js": b"var a={" + line + b"};", "words.txt": b"word " * 5 * keys})
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        for path in ("bundle.js", "words.txt"):
            record = view.record(path)
            assert record is not None
            assert not record.skip
            assert 1 <= record.chunks <= 2000
        assert max(len(document.text) for document in view.lexical.iter_documents()) <= 8000


@pytest.mark.slow
def test_a_file_of_exactly_the_limit(repo: GitRepo):
    """CF-1: ten mebibytes are in, one byte more is out."""
    repo.commit("edge", **{"edge.txt": b"x " * (5 * MIB), "over.txt": b"x " * (5 * MIB) + b"."})
    harness.index(repo.root)
    assert paths_of(repo.root) == {"edge.txt": "", "over.txt": "too_large"}


def test_the_file_limit_can_be_lowered_not_raised(repo: GitRepo):
    """CF-1."""
    repo.commit(
        "small limit", **{".gitindex.toml": "[index]\nmax_file_bytes = 100\n", "a.py": "A = 1\n" * 50}
    )
    harness.index(repo.root)
    assert paths_of(repo.root)["a.py"] == "too_large"
    repo.write(".gitindex.toml", f"[index]\nmax_file_bytes = {11 * MIB}\n")
    assert harness.cli("sync", "--path", str(repo.root)).code == 2


def test_a_tree_larger_than_one_segment_takes_several(repo: GitRepo):
    """CF-1, C-4: the sync limit bounds a segment; the marker stands in the newest table only."""
    repo.commit(
        "many",
        **{".gitindex.toml": "[index]\nmax_sync_bytes = 2000\n"},
        **{f"m{at}.py": "X = 1\n" * 150 for at in range(8)},
    )
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        assert len(view.manifest.segments) >= 4
        assert view.read_marker() is not None
        assert view.manifest.counts.files_indexed == 9
    assert harness.audited(repo.root).is_clean
