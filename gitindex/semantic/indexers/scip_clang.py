"""scip-clang: reads a compilation database and runs the compilers that it names, to get their header paths. That may
be any program, so it is opt-in only.
"""

from __future__ import annotations

from gitindex.semantic.indexers.adapter import Diagnosis, Indexer, IndexerFailure, IndexerRun, Program

_DATABASE_PATHS = ("compile_commands.json", "build/compile_commands.json", "out/compile_commands.json")


class ScipClang(Indexer):
    name = "scip-clang"
    language = "cpp"
    how_to_get = "download scip-clang from its releases page and put it on PATH"
    runs_project_code = True

    def command(self, program: Program, run: IndexerRun) -> list[str]:
        database = next((path for path in _DATABASE_PATHS if (run.directory / path).exists()), None)
        if database is None:
            raise IndexerFailure(
                Diagnosis.NO_BUILD_DESCRIPTION,
                f"no compile_commands.json in {run.root or 'the repository root'}",
                hint="cmake -S . -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON, then track or provide the file",
            )
        jobs = str(max(1, run.cpus))
        return [*program.argv, f"--compdb-path={database}", f"--index-output-path={run.output}", "-j", jobs]
