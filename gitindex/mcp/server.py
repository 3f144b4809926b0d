"""The MCP server over stdio: the only module that knows the SDK.

The server starts without an index and without the modules that index or search; the first call loads them. Calls run
in threads, so that a slow call delays neither other calls nor the end of the server: once stdin is closed, running
calls get a second and no more (EN-8). A failing tool answers with JSON; protocol errors are for protocol mistakes.
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
_CALL_GRACE_SECONDS = (
    1.0  # for running calls when the client disconnects; clients kill servers that stay longer
)
_EXIT_GRACE_SECONDS = 5.0  # for the rest, such as answers in a pipe that nobody reads
_INSTRUCTIONS = (
    "A code index bound to git commits. Every answer is one JSON object with a status. not_ready: try again after "
    "retryAfterMs. not_indexed or requires_reindex: hints name the manage_index call to make. not_allowed: this "
    "server does not answer for that directory; only the user can change that. Answers carry "
    "freshness, coverage and trust; precision says how a hit was proven: semantic, syntactic or text."
)


class Service:
    """Runs tool calls and renders their answers as text."""

    def __init__(self, environment: Environment, default: Path) -> None:
        self._environment = environment
        self._default = default

    @cached_property
    def tools(self) -> Tools:
        from gitindex.mcp.tools import Tools

        return Tools(self._environment, self._default)

    @property
    def is_busy(self) -> bool:
        """Whether a create or reindex runs in the background."""
        return "tools" in self.__dict__ and self.tools.jobs.has_running()

    def call(self, name: str, arguments: dict[str, Any]) -> render.ToolText:
        try:
            return render.render_answer(
                self.tools.call(name, tool_schemas.check_arguments(tool_schemas.BY_NAME[name], arguments))
            )
        except GitindexError as problem:
            return render.render_error(problem)
        except Exception as problem:  # noqa: BLE001 - the boundary: report the defect and keep serving
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
        async with import_lock:  # the first call imports the modules; parallel calls wait for it
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
        # A thread inside an engine would crash an orderly end of the interpreter. What it was writing stays
        # unpublished, as after a crash (SN-4).
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
