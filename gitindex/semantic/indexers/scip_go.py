"""scip-go: one run per module; needs the Go toolchain and the module's dependencies. Runs no project code."""

from __future__ import annotations

from gitindex.semantic.indexers.adapter import Indexer, IndexerRun, Program


class ScipGo(Indexer):
    name = "scip-go"
    language = "go"
    how_to_get = "go install github.com/sourcegraph/scip-go/cmd/scip-go@latest (needs Go 1.25)"

    def command(self, program: Program, run: IndexerRun) -> list[str]:
        output, root = str(run.output), str(run.directory)
        return [
            *program.argv,
            "index",
            "-o",
            output,
            "--module-root",
            root,
            "--module-version",
            "_",
            "./...",
        ]
