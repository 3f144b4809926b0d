"""What extraction is a function of, as plain texts: fingerprints read them without importing an extractor."""

from __future__ import annotations

EXTRACTOR_VERSION = "2"  # symbols, imports, calls, identifiers, front matter
CHUNKER_VERSION = "1"  # where chunks begin and end, and what an anchor holds
# The one release of tree-sitter-language-pack this works with; a test compares it with the installed one.
GRAMMAR_VERSION = "0.13.0"
# Of the bundled vectors; changes with every retraining.
STATIC_VERSION = "gitindex-static-v1@2a9eac71cf13"
