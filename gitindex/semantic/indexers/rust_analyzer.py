"""rust-analyzer's batch mode: runs build scripts and procedural macros of the project: opt-in only."""

from __future__ import annotations

from gitindex.semantic.indexers.adapter import Indexer, IndexerRun, Program


class RustAnalyzer(Indexer):
    name = "rust-analyzer"
    language = "rust"
    how_to_get = "rustup component add rust-analyzer"
    runs_project_code = True

    def command(self, program: Program, run: IndexerRun) -> list[str]:
        words = [*program.argv, "scip", str(run.directory), "--output", str(run.output)]
        return [*words, "--exclude-vendored-libraries"]
