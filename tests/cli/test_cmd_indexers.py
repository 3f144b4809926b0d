"""`cli.cmd_indexers`: installing needs a name."""

from __future__ import annotations

import pytest

from gitindex.ops.exact import indexer_tools
from tests.support.harness import cli


def test_install_without_a_name_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(indexer_tools, "install", lambda *_: pytest.fail("something was installed"))
    refused = cli("indexers", "install", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "usage")


def test_install_passes_the_names_on(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def install(_: object, names: tuple[str, ...]) -> dict[str, object]:
        asked.append(names)
        return {"status": "ok", "installed": list(names), "indexers": []}

    monkeypatch.setattr(indexer_tools, "install", install)
    assert cli("indexers", "install", "python", "--json").json["installed"] == ["python"]
    assert asked == [("python",)]
