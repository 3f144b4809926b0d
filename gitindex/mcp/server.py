"""The MCP server over stdio: the only module that knows the SDK.

Starting needs no index and loads nothing that indexes or searches; the first call does. Calls run in threads, so a
slow one holds up nobody. Protocol errors are for the protocol: whatever a tool has to say, it says as JSON.
"""

from __future__ import annotations

import asyncio
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import gitindex
from gitindex.config import Environment
from gitindex.errors import GitindexError
from gitindex.mcp import render, schema

if TYPE_CHECKING:
    from gitindex.mcp.tools import Tools

_THREADS = 32
_INSTRUCTIONS = (
    "An index of code bound to git commits. Every answer is one JSON object with a status. not_ready: try again after "
    "retryAfterMs. not_indexed or requires_reindex: hints name the manage_index call that helps. Answers carry "
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

    def call(self, name: str, arguments: dict[str, Any]) -> render.Rendered:
        try:
            return render.answer(self.tools.call(name, schema.check(schema.BY_NAME[name], arguments)))
        except GitindexError as problem:
            return render.error(problem)
        except Exception as problem:  # noqa: BLE001 - the boundary: a defect is told as such, the server lives on
            return render.defect(problem)


def build(service: Service) -> Server[Any]:
    limiter = anyio.CapacityLimiter(_THREADS)
    first = asyncio.Lock()

    async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(spec) for spec in schema.TOOLS])

    async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in schema.BY_NAME:
            known = ", ".join(schema.BY_NAME)
            text = render.error(GitindexError(f"no tool {params.name!r}; there are: {known}"))
            return _result(text)
        async with first:  # imports happen once, not in twenty threads at a time
            await anyio.to_thread.run_sync(lambda: service.tools)
        arguments = params.arguments or {}
        return _result(await anyio.to_thread.run_sync(service.call, params.name, arguments, limiter=limiter))

    return Server(
        "gitindex",
        version=gitindex.__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve(environment: Environment, default: Path) -> None:
    """Serve stdin and stdout until stdin closes."""

    async def run() -> None:
        server = build(Service(environment, default))
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def _tool(spec: schema.ToolSpec) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=spec.reads_only, destructive_hint=not spec.reads_only, open_world_hint=False
    )
    return types.Tool(
        name=spec.name, description=spec.description, input_schema=spec.input_schema(), annotations=hints
    )


def _result(rendered: render.Rendered) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=rendered.text)], is_error=rendered.failed)
