"""`store.publish`: a segment that is not what the manifest says is never published (SN-7)."""

from __future__ import annotations

import pytest

from gitindex.errors import WriteVerificationFailed
from gitindex.store.contents import Flaw
from gitindex.store.publish import _refuse_flaws


def test_the_first_flaw_stops_the_publication():
    _refuse_flaws([])
    with pytest.raises(WriteVerificationFailed, match="two rows too many") as refused:
        _refuse_flaws(
            [
                Flaw("rows", "two rows too many", "tables/seg.lance"),
                Flaw("rows", "other", "tables/other.lance"),
            ]
        )
    assert refused.value.hint == "gitindex sync --full"
