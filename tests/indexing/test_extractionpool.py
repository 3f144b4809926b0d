"""EL-8, SN-5: files are read in processes that may die; order is kept, and a process that dies costs no build."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from gitindex.errors import WorkerFailed
from gitindex.extract import extractor, sandbox
from gitindex.extract.sandbox import Sandbox
from gitindex.indexing import extractionpool
from gitindex.indexing.batches import split_into_batches
from gitindex.model.rows import Extraction
from gitindex.model.settings import IndexSettings

SETTINGS = IndexSettings()
FILES = [(at, f"m{at}.py", f"def f{at}():\n    return {at}\n".encode()) for at in range(150)]


def extract_all(files: list[tuple[int, str, bytes]], workers: int) -> list[tuple[int, Extraction]]:
    with extractionpool.open_pool(workers, SETTINGS) as pool:
        pending = [
            pool.submit([(path, data) for _, path, data in batch])
            for batch in split_into_batches(files, lambda file: len(file[2]))
        ]
        extracted = [extraction for batch in pending for extraction in batch.result()]
    return [(number, extraction) for (number, _, _), extraction in zip(files, extracted, strict=True)]


@pytest.fixture
def our_worker(monkeypatch: pytest.MonkeyPatch):
    """Processes that know the tests' own module."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def choose(name: str) -> None:
        stream = Sandbox.stream

        def replaced(self: Sandbox, module: str, function: str, *arguments: object) -> object:
            return stream(self, "tests.indexing.deadly", name, *arguments)

        monkeypatch.setattr(Sandbox, "stream", replaced)

    return choose


def test_processes_and_this_one_agree() -> None:
    here = [(at, extractor.extract(path, data, SETTINGS)) for at, path, data in FILES]
    assert extract_all(FILES, 2) == here
    assert extract_all(FILES, 1) == here


def test_nothing_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sandbox, "start", lambda _: pytest.fail("started"))
    assert extract_all([], 1) == []


def test_a_file_that_kills_its_process_keeps_its_text(our_worker) -> None:
    our_worker("crashing_files")
    found = dict(extract_all(FILES, 2))
    assert list(found) == [at for at, _, _ in FILES]
    victim = found[77]
    assert victim.parse_error
    assert victim.text_only == "crash"
    assert victim.symbols == ()
    assert "return 77" in "".join(chunk.text for chunk in victim.chunks)
    assert all(found[at] == extractor.extract(path, data, SETTINGS) for at, path, data in FILES if at != 77)


def test_a_stopped_process_is_ended(our_worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was stopped at the same file twice: that file keeps its text, and nobody waits for ever."""
    our_worker("stopping_files")
    monkeypatch.setattr(sandbox, "STALL_SECONDS", 0.5)
    found = dict(extract_all(FILES, 2))
    assert found[77].text_only == "time"
    assert not any(found[at].text_only for at in found if at != 77)


def test_a_mistake_of_ours_is_no_limit(our_worker) -> None:
    our_worker("failing_files")
    with pytest.raises(WorkerFailed, match="a mistake of ours"):
        extract_all(FILES, 2)


def test_an_installation_that_cannot_start_processes_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_MODULE", "gitindex.no_such_module")
    with pytest.raises(WorkerFailed, match="exit code 1"):
        extract_all(FILES, 2)


def test_an_idle_process_is_used_again_and_replaced_when_gone() -> None:
    _, path, data = FILES[0]
    expected = extractor.extract(path, data, SETTINGS)
    assert extractionpool.extract_file(path, data, SETTINGS) == expected
    [(_, box)] = sandbox._idle
    first = box._process
    assert extractionpool.extract_file(path, data, SETTINGS) == expected
    assert box._process is first
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert extractionpool.extract_file(path, data, SETTINGS) == expected
    assert box._process is not first


def test_a_process_reads_no_secret_and_writes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """CF-5, RE-14: what parses a repository's bytes has nothing to give away."""
    monkeypatch.setenv("GITINDEX_SIGNING_KEY", "hunter2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("GITHUB_TOKEN", "hunter2")
    box = Sandbox()
    box.start()
    assert box._process is not None
    list(box.stream("gitindex.extract.parser_process", "extract_files", [], SETTINGS))
    told = Path(f"/proc/{box._process.pid}/environ").read_bytes()
    bounds = Path(f"/proc/{box._process.pid}/limits").read_text()
    box.close()
    assert b"hunter2" not in told
    assert [line.split()[3] for line in bounds.splitlines() if line.startswith("Max file size")] == ["0"]
    assert [line.split()[4] for line in bounds.splitlines() if line.startswith("Max core file size")] == ["0"]
