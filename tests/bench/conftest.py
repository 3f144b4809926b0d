"""`ci/` is no package: its modules import each other as `benchmarks.…`, as `ci/bench` lets them."""

from __future__ import annotations

import sys

from tests.house.graph import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "ci"))
