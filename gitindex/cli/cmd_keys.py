"""`gitindex keys new`."""

from __future__ import annotations

from pathlib import Path

import click

from gitindex.cli.command import Answer, CommandCall, command
from gitindex.model.foreign import quote_argument
from gitindex.ops.sharing import signing_keys


@click.group(help="Keys that sign snapshots.")
def run() -> None:
    pass


@command("Create a key pair: FILE (private, for the publisher) and FILE.pub (public).")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--comment", default="gitindex", show_default=True, help="A comment that is shown with the key."
)
def create_key_pair(_call: CommandCall, file: Path, comment: str) -> Answer:
    public_key = signing_keys.generate_key(file, comment)
    public_file = file.with_name(file.name + ".pub")
    text = "\n".join(
        [
            f"{public_key.id} {public_key.comment}",
            f"private  {file}  (GITINDEX_SIGNING_KEY_FILE; keep it secret)",
            f"public   {public_file}",
            f"next: gitindex trust add {quote_argument(str(public_file))}",
        ]
    )
    return Answer(
        {
            "status": "ok",
            "id": public_key.id,
            "public_key": public_key.line,
            "file": str(file),
            "public_file": str(public_file),
        },
        text,
    )


run.add_command(create_key_pair, "new")
