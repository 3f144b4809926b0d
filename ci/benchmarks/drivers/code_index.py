"""Runs inside code-index-mcp's own environment: drives its server over stdio and prints what things took."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(root: str, word: str) -> dict[str, float]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "code_index_mcp"], env=dict(os.environ)
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(name: str, **arguments: object) -> float:
            started = time.perf_counter()
            answer = await session.call_tool(name, arguments)
            if answer.isError:
                raise SystemExit(f"{name}: {answer.content}")
            return time.perf_counter() - started

        built = await call("set_project_path", path=root) + await call("build_deep_index")
        asked = [await call("search_code_advanced", pattern=word) for _ in range(5)]
        with open(f"{root}/django/views/generic/list.py", "a") as handle:
            handle.write("\n\ndef driven():\n    return 1\n")
        updated = await call("refresh_index") + await call("build_deep_index")
        return {"index": built, "query": statistics.median(asked), "update": updated}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
