"""`gitindex mcp`."""

from __future__ import annotations

from pathlib import Path

import click

from gitindex.config import load_environment


@click.command(help="Serve the index to agents over MCP (JSON-RPC on stdin and stdout).")
@click.option("--path", default=".", metavar="DIR", help="Codebase for calls that name none.")
@click.option("--json", "as_json", is_flag=True, help="Accepted for uniformity; the protocol is JSON anyway.")
def run(path: str, as_json: bool) -> int:  # noqa: ARG001
    from gitindex.mcp.server import serve

    serve(load_environment(), Path(path).absolute())
    return 0
