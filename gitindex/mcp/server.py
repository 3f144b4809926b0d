"""The MCP server over stdio: the only module that knows the SDK.

Starting needs no index and loads nothing that indexes or searches; the first call does. Calls run in threads, so a
slow one holds up nobody, the end of the server included: once stdin is closed, calls under way get a moment and no
more (EN-8). Protocol errors are for the protocol: whatever a tool has to say, it says as JSON.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import gitindex
from gitindex.config import Environment
from gitindex.errors import GitindexError
from gitindex.mcp import memory, render, tool_schemas
from gitindex.mcp.threads import CallThreads

if TYPE_CHECKING:
    from gitindex.mcp.tools import Tools

_THREADS = 32
_CALL_GRACE_SECONDS = 1.0  # for calls under way when the client goes; it kills what lingers
_EXIT_GRACE_SECONDS = 5.0  # for everything else then, such as answers that nobody takes out of the pipe
_INSTRUCTIONS = (
    "An index of code bound to git commits. Every answer is one JSON object with a status. not_ready: try again after "
    "retryAfterMs. not_indexed or requires_reindex: hints name the manage_index call that helps. not_allowed: this "
    "server does not answer for that directory; only the user can change that. Answers carry "
    "freshness, coverage and trust; precision says what a hit is worth: semantic, syntactic or text."
)


class Service:
    """Calls in, texts out."""

    def __init__(self, environment: Environment, default: Path) -> None:
        self._environment = environment
        self._default = default

    @cached_property
    def tools(self) -> Tools:
        from gitindex.mcp.tools import Tools

        return Tools(self._environment, self._default)

    @property
    def is_busy(self) -> bool:
        """Does a create or reindex go on in the background?"""
        return "tools" in self.__dict__ and self.tools.jobs.has_running()

    def call(self, name: str, arguments: dict[str, Any]) -> render.ToolText:
        try:
            return render.render_answer(
                self.tools.call(name, tool_schemas.check_arguments(tool_schemas.BY_NAME[name], arguments))
            )
        except GitindexError as problem:
            return render.render_error(problem)
        except Exception as problem:  # noqa: BLE001 - the boundary: a defect is told as such, the server lives on
            return render.render_defect(problem)


def build(service: Service, threads: CallThreads) -> Server[Any]:
    import_lock = asyncio.Lock()

    async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe_tool(spec) for spec in tool_schemas.TOOLS])

    async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in tool_schemas.BY_NAME:
            tool_names = ", ".join(tool_schemas.BY_NAME)
            unknown_tool = render.render_error(
                GitindexError(f"no tool {params.name!r}; there are: {tool_names}")
            )
            return _to_result(unknown_tool)
        async with import_lock:  # imports happen once, not in twenty threads at a time
            await threads.run(lambda: service.tools)
        return _to_result(await threads.run(partial(service.call, params.name, params.arguments or {})))

    return Server(
        "gitindex",
        version=gitindex.__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve(environment: Environment, default: Path) -> None:
    """Serve stdin and stdout until stdin closes."""
    memory.limit_arenas()

    async def run() -> bool:
        threads, service = CallThreads(_THREADS), Service(environment, default)
        server = build(service, threads)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
            _exit_after(_EXIT_GRACE_SECONDS)
        return threads.wait_until_idle(_CALL_GRACE_SECONDS) and not service.is_busy

    if not anyio.run(run):
        # A thread deep in an engine survives no orderly end of the interpreter. What it was writing is unpublished,
        # as after a crash (SN-4).
        sys.stderr.flush()
        os._exit(0)


def _exit_after(seconds: float) -> None:
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()


def _describe_tool(spec: tool_schemas.ToolSpec) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=spec.is_read_only,
        destructive_hint=spec.destructive,
        idempotent_hint=not spec.destructive,
        open_world_hint=False,
    )
    return types.Tool(
        name=spec.name, description=spec.description, input_schema=spec.input_schema(), annotations=hints
    )


def _to_result(rendered: render.ToolText) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=rendered.text)], is_error=rendered.failed)
