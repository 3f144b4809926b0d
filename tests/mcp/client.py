"""The SDK's own client on a real server process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

SOURCE = Path(__file__).parents[2]


class Session:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def raw(self, name: str, /, **arguments: Any) -> tuple[bool, dict[str, Any]]:
        """Whether the result is marked as an error, and the JSON of content[0].text."""
        result = await self.client.call_tool(name, arguments)
        assert len(result.content) == 1
        return bool(result.is_error), json.loads(result.content[0].text)  # type: ignore[union-attr]

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        failed, answer = await self.raw(name, **arguments)
        assert failed == (answer["status"] == "error"), answer
        return answer

    async def until_ok(self, path: str) -> dict[str, Any]:
        """Poll as an agent would, without hurry."""
        with anyio.fail_after(60):
            while True:
                answer = await self.call("manage_index", action="status", path=path)
                if answer["status"] != "not_ready":
                    return answer
                await anyio.sleep(0.05)


@asynccontextmanager
async def session(folder: Path) -> AsyncIterator[Session]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(("GIT", "HOME", "PATH"))}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gitindex", "mcp"],
        env={**kept, "PYTHONPATH": str(SOURCE)},
        cwd=folder,
    )
    async with Client(stdio_client(server)) as client:
        yield Session(client)


def drive(folder: Path, story: Callable[[Session], Awaitable[None]]) -> None:
    """Run one conversation."""

    async def main() -> None:
        async with session(folder) as opened:
            await story(opened)

    anyio.run(main)
