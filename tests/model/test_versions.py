"""CF-2: what the fingerprint says about grammars is what is installed."""

from __future__ import annotations

from importlib.metadata import version

from gitindex.model.versions import GRAMMAR_VERSION


def test_the_grammar_version_is_the_installed_one():
    assert version("tree-sitter-language-pack") == GRAMMAR_VERSION
