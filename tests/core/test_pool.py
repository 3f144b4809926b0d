"""Extraction in worker processes: order kept, and a worker that dies costs no build (SN-5)."""

from __future__ import annotations

import os
import signal

import pytest

from gitindex.extract import extractor
from gitindex.indexing import pool
from gitindex.model.settings import IndexSettings

SETTINGS = IndexSettings()
FILES = [(at, f"m{at}.py", f"def f{at}():\n    return {at}\n".encode()) for at in range(150)]


def test_workers_and_this_process_agree():
    assert list(pool.extractions(FILES, SETTINGS, 2)) == list(pool.extractions(FILES, SETTINGS, 1))


extract_batch = pool._extract_batch


def fatal(batch: pool.Batch, settings: IndexSettings) -> bytes:
    """What a crashing grammar does to its process, at one file."""
    if any(path == "m77.py" for path, _ in batch):
        os.kill(os.getpid(), signal.SIGSEGV)
    return extract_batch(batch, settings)


def test_a_file_that_kills_its_worker_keeps_its_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "_extract_batch", fatal)
    found = dict(pool.extractions(FILES, SETTINGS, 2))
    assert list(found) == [at for at, _, _ in FILES]
    victim = found[77]
    assert victim.parse_error
    assert victim.symbols == ()
    assert "return 77" in "".join(chunk.text for chunk in victim.chunks)
    assert all(found[at] == extractor.extract(path, data, SETTINGS) for at, path, data in FILES if at != 77)
