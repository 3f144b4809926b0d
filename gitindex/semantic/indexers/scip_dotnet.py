"""scip-dotnet: Roslyn over MSBuild, which evaluates project files: opt-in only. Also exits with 0 without documents."""

from __future__ import annotations

from gitindex.semantic.indexers.adapter import Diagnosis, Indexer, IndexerFailure, IndexerRun, Program


class ScipDotnet(Indexer):
    name = "scip-dotnet"
    language = "csharp"
    how_to_get = "dotnet tool install --global scip-dotnet"
    runs_project_code = True

    def command(self, program: Program, run: IndexerRun) -> list[str]:
        project_files = [*sorted(run.directory.glob("*.sln")), *sorted(run.directory.glob("*.csproj"))]
        if not project_files:
            raise IndexerFailure(
                Diagnosis.NO_BUILD_DESCRIPTION,
                f"no solution or project file in {run.root or 'the repository root'}",
                hint="dotnet new sln && dotnet sln add **/*.csproj",
            )
        return [
            *program.argv,
            "index",
            project_files[0].name,
            "--working-directory",
            str(run.directory),
            "--output",
            str(run.output),
            "--skip-dotnet-restore",
        ]
