"""What each tool does: open the codebase, pass the gate, call one op. Thin on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gitindex import gate
from gitindex.config import Environment
from gitindex.errors import UsageError
from gitindex.mcp import memory
from gitindex.mcp.jobs import Job, Jobs
from gitindex.mcp.roots import Roots
from gitindex.ops import manage, navigate
from gitindex.ops.budget import fit
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.explore import DEFAULT_TOKENS, explore
from gitindex.ops.listing import list_codebases
from gitindex.ops.query import QueryOptions, query
from gitindex.ops.read import read_file
from gitindex.ops.reading import ReadOptions
from gitindex.ops.state import file_states
from gitindex.search.request import Request

Arguments = Mapping[str, Any]
_WAIT_SECONDS = 600.0  # for a create or reindex that is to be waited for; then it goes on in the background


class Tools:
    """The tools of one server: many codebases, each with its own gate."""

    def __init__(self, environment: Environment, default: Path) -> None:
        self._environment = environment
        self._default = default
        self._roots = Roots(environment, default)
        self.jobs = Jobs()

    def call(self, name: str, given: Arguments) -> dict[str, Any]:
        """Raises NotAllowed, Gated with its envelope, and every named error of the op behind the tool."""
        if name == "list_codebases":
            return list_codebases(self._environment)
        requested = self._requested(given)
        codebase = self._codebase(requested)
        if name == "manage_index":
            answer = self._manage(codebase, given)
        else:
            self._block(codebase, requested, given)
            answer = self._read(name, codebase, given, self._options(requested, given))
        return {"codebaseRoot": str(codebase.root), **answer}

    def _requested(self, given: Arguments) -> Path:
        path = Path(given.get("path", self._default)).expanduser()
        return path if path.is_absolute() else self._default / path

    def _codebase(self, requested: Path) -> Codebase:
        """The codebase that holds `requested`, if this server answers for it (EN-8)."""
        codebase = self._holder(self._roots.require(requested))
        self._roots.require_root(codebase.root)
        return codebase

    def _holder(self, place: Path) -> Codebase:
        """A file that is gone from disk still belongs to its codebase; a path that none holds is a mistake."""
        if not place.exists():
            for folder in filter(Path.is_dir, place.parents):
                found = open_codebase(folder, self._environment)
                if found.repo is not None or found.layout.state.exists():
                    return found
        return open_codebase(place, self._environment)

    def _options(self, requested: Path, given: Arguments) -> ReadOptions:
        return ReadOptions(
            stale_ok=given.get("allowStale", False),
            debug=given.get("debug", False),
            sync=given.get("sync", False),
            requested=requested,
            base=requested if requested.is_dir() else requested.parent,
        )

    def _read(self, name: str, codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
        if not options.sync:
            return _READERS[name](codebase, given, options)
        self._require_index(codebase, options)
        try:
            return _READERS[name](codebase, given, options)
        finally:
            memory.give_back()

    def _require_index(self, codebase: Codebase, options: ReadOptions | None = None) -> None:
        """Only `create` indexes what has no index (EN-8); anything else gets the gate's answer."""
        if not self._roots.indexed(codebase.root):
            chosen = options or ReadOptions()
            gate.open_gated(codebase, debug=chosen.debug, requested=chosen.requested).close()

    def _block(self, codebase: Codebase, requested: Path, given: Arguments) -> None:
        """A rebuild of ours counts from its first moment, before the store says so."""
        job = self.jobs.running(str(codebase.root))
        if job is not None and not given.get("allowStale", False):
            raise gate.indexing_gate(codebase, job.progress, requested, debug=given.get("debug", False))

    # -- lifecycle -----------------------------------------------------------------------------

    def _manage(self, codebase: Codebase, given: Arguments) -> dict[str, Any]:
        action = given["action"]
        if action in ("reindex", "sync"):
            self._require_index(codebase)
        if action in ("create", "reindex"):
            return self._rebuild(codebase, action, wait=given.get("wait", False))
        job = self.jobs.running(str(codebase.root))
        if action == "status":
            return self._status(codebase)
        if job is not None:
            raise gate.indexing_gate(codebase, job.progress, codebase.root)
        try:
            return manage.catch_up(codebase) if action == "sync" else manage.clear(codebase)
        finally:
            memory.give_back()

    def _rebuild(self, codebase: Codebase, action: str, *, wait: bool) -> dict[str, Any]:
        indexing = gate.active_indexing(codebase.layout)
        if indexing is not None:
            raise gate.indexing_gate(codebase, indexing, codebase.root)
        notes: list[str] = []
        if action == "create":
            needed, notes = manage.needs_create(codebase)
            if not needed:
                return manage.already_indexed(codebase)
        work = manage.create if action == "create" else manage.reindex

        def build(job: Job) -> dict[str, Any]:
            try:
                return work(codebase, job.track)
            finally:
                memory.give_back()

        job, fresh = self.jobs.start(str(codebase.root), action, build)
        if not fresh:
            raise gate.indexing_gate(codebase, job.progress, codebase.root)
        if wait and job.done.wait(_WAIT_SECONDS):
            return job.answer or {"status": "error", "action": action, "error": job.error}
        return {
            "status": "ok",
            "action": action,
            "started": True,
            "state": "indexing",
            "message": f"{action} of {codebase.root} runs in the background",
            "notes": notes,
            "hints": {"status": gate.action(codebase.root, "status")},
        }

    def _status(self, codebase: Codebase) -> dict[str, Any]:
        answer = manage.status(codebase)
        job = self.jobs.last(str(codebase.root))
        if job is None:
            return answer
        if not job.done.is_set() and answer.get("gate") != "not_ready":
            blocked = gate.indexing_gate(codebase, job.progress, codebase.root).detail["envelope"]
            assert isinstance(blocked, dict)
            kept = ("status", "reason", "message", "indexing", "retryAfterMs")
            answer |= {"gate": "not_ready", "state": "indexing", **{name: blocked[name] for name in kept}}
        return {**answer, "lastJob": job.to_json()}


# -- readers --------------------------------------------------------------------------------------


def _search(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    request = Request(
        query=given.get("query", ""),
        mode=given.get("mode", "hybrid"),
        limit=given.get("limit", codebase.settings.query.limit),
        globs=tuple(given.get("globs", ())),
        languages=tuple(given.get("languages", ())),
        kinds=tuple(given.get("kinds", ())),
        tags=tuple(given.get("tags", ())),
        since=given.get("since", ""),
        until=given.get("until", ""),
        session=given.get("session", ""),
        files=given.get("files", False),
        flat=given.get("flat", False),
    )
    chosen = QueryOptions(
        sync=options.sync, stale_ok=options.stale_ok, debug=options.debug, requested=options.requested
    )
    answer = query(codebase, request, chosen).to_json()
    fitted = fit(answer, codebase.settings.query.max_answer_chars, ["results"])
    cut = len(answer["results"]) - len(fitted["results"])
    return {**fitted, "left_out": answer["left_out"] + cut}


def _explore(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    return explore(codebase, given["question"], options, tokens=given.get("tokens", DEFAULT_TOKENS))


def _symbol(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    return navigate.find_symbol(codebase, given["name"], options, given.get("limit", 100))


def _references(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    return navigate.find_references(codebase, given["target"], options, given.get("limit", 500))


def _outline(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    return navigate.outline(codebase, _file(given, options), options)


def _call_graph(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    return navigate.call_graph(
        codebase,
        given["symbol"],
        options,
        direction=given.get("direction", "callers"),
        depth=given.get("depth", 2),
        shape=given.get("format", "json"),
        note_limit=given.get("noteLimit", 50),
    )


def _import_graph(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    return navigate.import_graph(
        codebase,
        _file(given, options),
        options,
        direction=given.get("direction", "imports"),
        depth=given.get("depth", 1),
    )


def _map(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    return navigate.repo_map(
        codebase, options, tokens=given.get("tokens", 2000), focus=tuple(given.get("focus", ()))
    )


def _slice(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    return navigate.slice_variable(
        codebase,
        _file(given, options),
        given["line"],
        given["name"],
        options,
        direction=given.get("direction", "backward"),
    )


def _read(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    return read_file(
        codebase,
        _file(given, options),
        options,
        first=given.get("startLine", 1),
        last=given.get("endLine"),
        worktree=given.get("worktree", False),
    )


def _state(codebase: Codebase, given: Arguments, options: ReadOptions) -> dict[str, Any]:
    files = tuple(given["files"]) if "files" in given else (_file(given, options),)
    answer = file_states(codebase, files, options)
    return fit(answer, codebase.settings.query.max_answer_chars, ["files", "witnesses", "ambiguous"])


_READERS: dict[str, Callable[[Codebase, Arguments, ReadOptions], dict[str, Any]]] = {
    "search_codebase": _search,
    "explore": _explore,
    "find_symbol": _symbol,
    "find_references": _references,
    "file_outline": _outline,
    "call_graph": _call_graph,
    "import_graph": _import_graph,
    "repo_map": _map,
    "slice_variable": _slice,
    "read_file": _read,
    "file_state": _state,
}


def _file(given: Arguments, options: ReadOptions) -> str:
    """The file meant: `file`, else `path` when that is no directory."""
    if "file" in given:
        return str(given["file"])
    if options.requested is None or options.requested.is_dir():
        raise UsageError("which file? Give `file`, or a file as `path`")
    return str(options.requested)
