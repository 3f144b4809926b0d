"""What several attacks share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns.attack.canary import Canary


@pytest.fixture
def canary(tmp_path: Path) -> Canary:
    return Canary.create(tmp_path / "canary")
