"""Runs a tool: opens the codebase, passes the gate, calls one function of `ops`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitindex import gate
from gitindex.config import Environment
from gitindex.errors import UsageError
from gitindex.mcp import memory
from gitindex.mcp.background_jobs import RebuildJob, RebuildJobs
from gitindex.mcp.roots import AllowedRoots
from gitindex.ops.answers import structural_answers
from gitindex.ops.answers.answer_budget import fit
from gitindex.ops.answers.answer_types import SnapshotAnswer
from gitindex.ops.answers.exploration import DEFAULT_TOKENS, explore
from gitindex.ops.answers.file_text import read_file
from gitindex.ops.answers.gated_read import ReadOptions
from gitindex.ops.answers.search_answer import QueryAnswer, QueryOptions, fit_hits, query
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.exact.edit_gate import read_file_states
from gitindex.ops.maintain import index_actions
from gitindex.ops.maintain.codebase_list import list_codebases
from gitindex.ops.maintain.index_status import GateVerdict, status
from gitindex.search.request import Request

Arguments = Mapping[str, Any]
_WAIT_SECONDS = 600.0  # for a create or reindex that is to be waited for; then it goes on in the background


class Tools:
    """The tools of one server: many codebases, each with its own gate."""

    def __init__(self, environment: Environment, default: Path) -> None:
        self._environment = environment
        self._default = default
        self._roots = AllowedRoots(environment, default)
        self.jobs = RebuildJobs()

    def call(self, name: str, arguments: Arguments) -> dict[str, Any]:
        """Raises NotAllowed, Gated with its envelope, and every named error of the op behind the tool."""
        if name == "list_codebases":
            return list_codebases(self._environment)
        requested = self._requested_path(arguments)
        codebase = self._open_allowed(requested)
        if name == "manage_index":
            answer = self._manage(codebase, arguments)
        else:
            self._refuse_during_rebuild(codebase, requested, arguments)
            options = self._read_options(requested, arguments)
            answer = self._read_index(name, codebase, arguments, options).to_json()
        return {"codebase_root": str(codebase.root), **answer}

    def _requested_path(self, arguments: Arguments) -> Path:
        path = Path(arguments.get("path", self._default)).expanduser()
        return path if path.is_absolute() else self._default / path

    def _open_allowed(self, requested: Path) -> Codebase:
        """The codebase that holds `requested`, if this server answers for it (EN-8)."""
        codebase = self._open_containing(self._roots.require_allowed(requested))
        self._roots.require_root(codebase.root)
        return codebase

    def _open_containing(self, path: Path) -> Codebase:
        """A file that is gone from disk still belongs to its codebase; a path that none holds is a mistake."""
        if not path.exists():
            for folder in filter(Path.is_dir, path.parents):
                codebase = open_codebase(folder, self._environment)
                if codebase.repo is not None or codebase.layout.state.exists():
                    return codebase
        return open_codebase(path, self._environment)

    def _read_options(self, requested: Path, arguments: Arguments) -> ReadOptions:
        return ReadOptions(
            stale_ok=arguments.get("allow_stale", False),
            debug=arguments.get("debug", False),
            sync=arguments.get("sync", False),
            requested=requested,
            base=requested if requested.is_dir() else requested.parent,
        )

    def _read_index(
        self, name: str, codebase: Codebase, arguments: Arguments, options: ReadOptions
    ) -> SnapshotAnswer | QueryAnswer:
        if not options.sync:
            return _READERS[name](codebase, arguments, options)
        self._require_index(codebase, options)
        try:
            return _READERS[name](codebase, arguments, options)
        finally:
            memory.trim_heap()

    def _require_index(self, codebase: Codebase, options: ReadOptions | None = None) -> None:
        """Only `create` indexes what has no index (EN-8); anything else gets the gate's answer."""
        if not self._roots.is_indexed(codebase.root):
            read_options = options or ReadOptions()
            gate.open_gated(codebase, debug=read_options.debug, requested=read_options.requested).close()

    def _refuse_during_rebuild(self, codebase: Codebase, requested: Path, arguments: Arguments) -> None:
        """A rebuild of ours counts from its first moment, before the store says so."""
        job = self.jobs.find_running(str(codebase.root))
        if job is not None and not arguments.get("allow_stale", False):
            raise gate.indexing_refusal(
                codebase, job.progress, requested, debug=arguments.get("debug", False)
            )

    # -- lifecycle -----------------------------------------------------------------------------

    def _manage(self, codebase: Codebase, arguments: Arguments) -> dict[str, Any]:
        action = arguments["action"]
        job = self.jobs.find_running(str(codebase.root))
        if job is not None and action != "status":  # counts before the store says so
            raise gate.indexing_refusal(codebase, job.progress, codebase.root)
        if action in ("reindex", "sync"):
            self._require_index(codebase)
        if action in ("create", "reindex"):
            return self._rebuild(codebase, action, wait=arguments.get("wait", False))
        if action == "status":
            return self._report_status(codebase)
        try:
            return index_actions.catch_up(codebase) if action == "sync" else index_actions.clear(codebase)
        finally:
            memory.trim_heap()

    def _rebuild(self, codebase: Codebase, action: str, *, wait: bool) -> dict[str, Any]:
        indexing = gate.active_indexing(codebase.layout)
        if indexing is not None:
            raise gate.indexing_refusal(codebase, indexing, codebase.root)
        warnings: tuple[str, ...] = ()
        if action == "create":
            check = index_actions.check_create(codebase)
            warnings = check.warnings
            if not check.needed:
                return index_actions.answer_already_indexed(codebase)
        work = index_actions.create if action == "create" else index_actions.reindex

        def build(job: RebuildJob) -> dict[str, Any]:
            try:
                return work(codebase, job.track)
            finally:
                memory.trim_heap()

        job, started = self.jobs.start(str(codebase.root), action, build)
        if not started:
            raise gate.indexing_refusal(codebase, job.progress, codebase.root)
        if wait and job.done.wait(_WAIT_SECONDS):
            return job.answer or {"status": "error", "action": action, "error": job.error}
        return {
            "status": "ok",
            "action": action,
            "started": True,
            "state": "indexing",
            "message": f"{action} of {codebase.root} runs in the background",
            "notes": list(warnings),
            "hints": {"status": gate.lifecycle_action(codebase.root, "status")},
        }

    def _report_status(self, codebase: Codebase) -> dict[str, Any]:
        job = self.jobs.find_last(str(codebase.root))
        is_running = (
            job is not None and not job.done.is_set()
        )  # before the store is read: the job may end meanwhile
        answer = status(codebase)
        verdict = answer.verdict or GateVerdict("ok")
        if job is not None and is_running and verdict.gate != "not_ready":
            # The job runs, but its process has not written so to the store yet.
            gate_answer = gate.indexing_refusal(codebase, job.progress, codebase.root).detail["envelope"]
            assert isinstance(gate_answer, dict)
            verdict = replace(
                verdict,
                gate="not_ready",
                reason=gate_answer["reason"],
                message=gate_answer["message"],
                indexing=gate_answer["indexing"],
                retry_after_ms=gate_answer["retryAfterMs"],
            )
            answer = replace(answer, status="not_ready", state="indexing", verdict=verdict)
        last_job = {"last_job": job.to_json()} if job is not None else {}
        return {**answer.to_json(), "action": "status", **last_job}


# -- readers --------------------------------------------------------------------------------------


def _search(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> QueryAnswer:
    request = Request(
        query=arguments.get("query", ""),
        mode=arguments.get("mode", "hybrid"),
        limit=arguments.get("limit", codebase.settings.query.limit),
        globs=tuple(arguments.get("globs", ())),
        languages=tuple(arguments.get("languages", ())),
        kinds=tuple(arguments.get("kinds", ())),
        tags=tuple(arguments.get("tags", ())),
        since=arguments.get("since", ""),
        until=arguments.get("until", ""),
        session=arguments.get("session", ""),
        files=arguments.get("files", False),
        flat=arguments.get("flat", False),
    )
    query_options = QueryOptions(
        sync=options.sync, stale_ok=options.stale_ok, debug=options.debug, requested=options.requested
    )
    return fit_hits(query(codebase, request, query_options), codebase.settings.query.max_answer_chars)


def _explore(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    return explore(codebase, arguments["question"], options, tokens=arguments.get("tokens", DEFAULT_TOKENS))


def _find_symbol(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    return structural_answers.find_symbol(codebase, arguments["name"], options, arguments.get("limit", 100))


def _find_references(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    return structural_answers.find_references(
        codebase, arguments["target"], options, arguments.get("limit", 500)
    )


def _outline_file(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    return structural_answers.outline(codebase, _requested_file(arguments, options), options)


def _build_call_graph(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    return structural_answers.call_graph(
        codebase,
        arguments["symbol"],
        options,
        direction=arguments.get("direction", "callers"),
        depth=arguments.get("depth", 2),
        shape=arguments.get("format", "json"),
        note_limit=arguments.get("noteLimit", 50),
    )


def _build_import_graph(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    return structural_answers.import_graph(
        codebase,
        _requested_file(arguments, options),
        options,
        direction=arguments.get("direction", "imports"),
        depth=arguments.get("depth", 1),
    )


def _build_repo_map(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    return structural_answers.repo_map(
        codebase, options, tokens=arguments.get("tokens", 2000), focus=tuple(arguments.get("focus", ()))
    )


def _slice_variable(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    return structural_answers.slice_variable(
        codebase,
        _requested_file(arguments, options),
        arguments["line"],
        arguments["name"],
        options,
        direction=arguments.get("direction", "backward"),
    )


def _read_file(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    return read_file(
        codebase,
        _requested_file(arguments, options),
        options,
        first=arguments.get("start_line", 1),
        last=arguments.get("end_line"),
        worktree=arguments.get("worktree", False),
    )


def _report_file_states(codebase: Codebase, arguments: Arguments, options: ReadOptions) -> SnapshotAnswer:
    files = tuple(arguments["files"]) if "files" in arguments else (_requested_file(arguments, options),)
    answer = read_file_states(codebase, files, options)
    return fit(answer, codebase.settings.query.max_answer_chars, ["files", "witnesses", "ambiguous"])


_READERS: dict[str, Callable[[Codebase, Arguments, ReadOptions], SnapshotAnswer | QueryAnswer]] = {
    "search_codebase": _search,
    "explore": _explore,
    "find_symbol": _find_symbol,
    "find_references": _find_references,
    "file_outline": _outline_file,
    "call_graph": _build_call_graph,
    "import_graph": _build_import_graph,
    "repo_map": _build_repo_map,
    "slice_variable": _slice_variable,
    "read_file": _read_file,
    "file_state": _report_file_states,
}


def _requested_file(arguments: Arguments, options: ReadOptions) -> str:
    """The file meant: `file`, else `path` when that is no directory."""
    if "file" in arguments:
        return str(arguments["file"])
    if options.requested is None or options.requested.is_dir():
        raise UsageError("which file? Give `file`, or a file as `path`")
    return str(options.requested)
