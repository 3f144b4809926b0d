"""`gitindex keys new`."""

from __future__ import annotations

from pathlib import Path

import click

from gitindex.cli.command import Answer, Call, command
from gitindex.model.foreign import quote_argument
from gitindex.ops.sharing import signing_keys


@click.group(help="Keys that sign snapshots.")
def run() -> None:
    pass


@command("Make a key pair: FILE (private, for the publisher) and FILE.pub (for everybody).")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--comment", default="gitindex", show_default=True, help="A note for people.")
def new(_call: Call, file: Path, comment: str) -> Answer:
    public = signing_keys.generate_key(file, comment)
    pub = file.with_name(file.name + ".pub")
    text = "\n".join(
        [
            f"{public.id} {public.comment}",
            f"private  {file}  (GITINDEX_SIGNING_KEY_FILE; keep it secret)",
            f"public   {pub}",
            f"next: gitindex trust add {quote_argument(str(pub))}",
        ]
    )
    return Answer(
        {
            "status": "ok",
            "id": public.id,
            "public_key": public.line,
            "file": str(file),
            "public_file": str(pub),
        },
        text,
    )


run.add_command(new, "new")
