"""Effective settings as frozen values. `config` reads them and passes them down (CF-1)."""

from __future__ import annotations

from gitindex.model.frozen import field, frozen

MAX_FILE_BYTES = 10 * 1024 * 1024
MAX_CHUNKS_PER_FILE = 2000
MAX_SYNC_BYTES = 256 * 1024 * 1024


@frozen
class Limits:
    """Hard upper bounds; configuration may lower them, never raise them."""

    file_bytes: int = MAX_FILE_BYTES
    chunks_per_file: int = MAX_CHUNKS_PER_FILE
    sync_bytes: int = MAX_SYNC_BYTES


@frozen
class IndexSettings:
    """`[index]`: what gets indexed and how it is cut."""

    limits: Limits = field(default_factory=Limits)
    include: tuple[str, ...] = ()  # globs of otherwise unsupported files to index
    exclude: tuple[str, ...] = ()  # globs of files to leave out
    untracked: bool = True
    clean_only: bool = False  # only what is committed, as `sync --commit-only`
    submodules: bool = False  # enter submodules and nested repositories
    chunk_chars: int = 750  # target size of a chunk


@frozen
class EmbedSettings:
    """`[embedding]`: which embedder and its pinned identity."""

    provider: str = "static"  # a name that `extract.embed.embedders` knows
    model: str = ""
    revision: str = ""  # of the hub, 40 hex digits; of a directory, the hash of all that it holds
    directory: str = ""  # where the user keeps the model; never from a repository's file (CF-4)
    dimension: int = 0  # 0: the embedder's own
    max_chars: int = 2000
    batch: int = 64


@frozen
class QuerySettings:
    """`[query]`: ranking and output; never changes what the index holds."""

    limit: int = 10
    snippet_lines: int = 12
    per_file: int = 3
    max_answer_chars: int = 60_000


@frozen
class RemoteProposal:
    """`[remote]`: what a repository proposes. Never acted on without the user's pin (RE-5)."""

    url: str = ""
    keys: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    repository: str = ""  # the id for clones that cannot know it: shallow ones


@frozen
class Settings:
    index: IndexSettings = field(default_factory=IndexSettings)
    embedding: EmbedSettings = field(default_factory=EmbedSettings)
    query: QuerySettings = field(default_factory=QuerySettings)
    remote: RemoteProposal = field(default_factory=RemoteProposal)
    file_hash: str = ""  # sha256 of .gitindex.toml, "" without one
