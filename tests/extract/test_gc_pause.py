"""The garbage collector pauses for the length of an extraction and no longer."""

from __future__ import annotations

import gc
from contextlib import suppress

from gitindex.extract.gc_pause import pause_gc


def test_the_collector_is_off_inside_and_on_after_a_failure():
    assert gc.isenabled()
    with suppress(ValueError), pause_gc():
        assert not gc.isenabled()
        raise ValueError("inside")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with pause_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
