"""All adapters, by language and by name."""

from __future__ import annotations

from gitindex.errors import UsageError
from gitindex.semantic.indexers.adapter import Indexer
from gitindex.semantic.indexers.rust_analyzer import RustAnalyzer
from gitindex.semantic.indexers.scip_clang import ScipClang
from gitindex.semantic.indexers.scip_dotnet import ScipDotnet
from gitindex.semantic.indexers.scip_go import ScipGo
from gitindex.semantic.indexers.scip_java import ScipJava
from gitindex.semantic.indexers.scip_python import ScipPython
from gitindex.semantic.indexers.scip_typescript import ScipTypescript

INDEXERS: tuple[Indexer, ...] = (
    ScipPython(),
    ScipTypescript(),
    ScipGo(),
    ScipJava(),
    ScipClang(),
    ScipDotnet(),
    RustAnalyzer(),
)


def indexer_for(name: str) -> Indexer:
    """The adapter of a language or a tool. Raises UsageError for any other name."""
    for indexer in INDEXERS:
        if name in (indexer.name, indexer.language):
            return indexer
    languages = ", ".join(indexer.language for indexer in INDEXERS)
    raise UsageError(f"no indexer for {name!r}; known: {languages}", hint="gitindex indexers")
