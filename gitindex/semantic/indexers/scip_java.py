"""scip-java: a compiler plugin. It cleans and runs the project's own build, so it is opt-in only."""

from __future__ import annotations

from gitindex.semantic.indexers.adapter import Diagnosis, Indexer, IndexerFailure, IndexerRun, Program

_GRADLE_FILES = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")


class ScipJava(Indexer):
    name = "scip-java"
    language = "java"
    how_to_get = "coursier install --contrib scip-java (needs JDK 17)"
    runs_project_code = True

    def command(self, program: Program, run: IndexerRun) -> list[str]:
        if (run.directory / "pom.xml").exists():
            build_tool = "maven"
        elif any((run.directory / name).exists() for name in _GRADLE_FILES):
            build_tool = "gradle"
        else:
            raise IndexerFailure(
                Diagnosis.NO_BUILD_DESCRIPTION,
                f"no Maven or Gradle build in {run.root or 'the repository root'}",
                hint="add pom.xml or build.gradle at the project root",
            )
        return [*program.argv, "index", "--output", str(run.output), "--build-tool", build_tool]
