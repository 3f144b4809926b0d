"""Configuration: `.gitindex.toml` (tracked, untrusted), user configuration, environment (CF-1, CF-2).

The only reader of the environment. A repository's file can narrow what is indexed and shape answers; it cannot
widen scope, raise limits, or touch trust, credentials and endpoints. Every mistake is an error with line and key.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gitindex import child
from gitindex.errors import ConfigError
from gitindex.extract.embed.embedders import KNOWN_PROVIDERS, PROVIDERS, embedder_identity
from gitindex.model import rulefiles, toml, versions
from gitindex.model.foreign import MAX_NAME, escape_line, quote_text
from gitindex.model.frozen import field, frozen
from gitindex.model.settings import (
    EmbedSettings,
    IndexSettings,
    Limits,
    QuerySettings,
    RemoteProposal,
    Settings,
)
from gitindex.userconfig import UserConfig, read_user_config

FILE_NAME = ".gitindex.toml"
IGNORE_NAME = rulefiles.IGNORE_NAME
_MAX_CONFIG_BYTES = 64 * 1024
_REPOSITORY = re.compile(r"[0-9a-z][0-9a-z_-]{0,127}")
_BARE = re.compile(r"[a-z_.]{1,40}")  # the form of our own keys; any other name is foreign text and is quoted
_MODEL = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*(/[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*)?"
)


@frozen
class Environment:
    """What the process was started with."""

    home: Path
    skip: bool = False
    debug: bool = False
    user: UserConfig = field(default_factory=UserConfig)
    remote: str = ""
    signing_key_file: str = ""
    signing_key: str = field(default="", repr=False)
    endpoint: str = ""
    ci: bool = False
    event: str = ""
    summary: str = ""  # files of a CI job: its summary, and the outputs of its step
    outputs: str = ""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)  # for indexers


def load_environment(variables: Mapping[str, str] | None = None) -> Environment:
    values = os.environ if variables is None else variables
    home = values.get("GITINDEX_HOME") or str(Path(values.get("HOME") or "~").expanduser() / ".gitindex")
    return Environment(
        home=Path(home).absolute(),
        user=read_user_config(Path(home)),
        skip=values.get("GITINDEX_SKIP", "") not in ("", "0"),
        debug=values.get("GITINDEX_DEBUG", "") not in ("", "0"),
        remote=values.get("GITINDEX_REMOTE", ""),
        signing_key_file=values.get("GITINDEX_SIGNING_KEY_FILE", ""),
        signing_key=values.get("GITINDEX_SIGNING_KEY", ""),
        endpoint=values.get("AWS_ENDPOINT_URL_S3") or values.get("AWS_ENDPOINT_URL", ""),
        ci=values.get("CI", "") not in ("", "0", "false"),
        event=values.get("GITHUB_EVENT_NAME", ""),
        summary=values.get("GITHUB_STEP_SUMMARY", ""),
        outputs=values.get("GITHUB_OUTPUT", ""),
        variables=child.original_environment(values) if variables is None else dict(values),
    )


def job_summary_path() -> str:
    """The file that `Environment.summary` names, also where the rest of the environment cannot be read."""
    return os.environ.get("GITHUB_STEP_SUMMARY", "")


def is_color_disabled() -> bool:
    """NO_COLOR, set to anything but "" (no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def limit_numpy_threads() -> None:
    """Limit numpy to one thread. Call it before numpy is imported.

    Our matrix products are small, and on a busy machine OpenBLAS threads that wait for each other made embedding ten
    times slower.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def parse(data: bytes | None) -> Settings:
    """Settings from the bytes of `.gitindex.toml`; defaults without one.

    Raises ConfigError with line and key.
    """
    if data is None:
        return Settings()
    if len(data) > _MAX_CONFIG_BYTES:
        raise ConfigError(f"{FILE_NAME} is larger than {_MAX_CONFIG_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
        tables = toml.loads(text)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{FILE_NAME} is not UTF-8: {error}") from error
    except ValueError as error:
        raise ConfigError(
            f"{FILE_NAME}: {escape_line(str(error), MAX_NAME)}", hint=f"fix {FILE_NAME}"
        ) from error
    reader = _RepoConfigReader(text)
    known_tables = {"index", "embedding", "query", "remote"}
    for name, value in tables.items():
        if name not in known_tables:
            raise reader.error(name, "", f"unknown table, expected one of {', '.join(sorted(known_tables))}")
        if not isinstance(value, dict):
            raise reader.error(name, "", "must be a table")
    index = tables.get("index", {})
    embedding = tables.get("embedding", {})
    return Settings(
        index=_parse_index(reader, index),
        embedding=_parse_embedding(reader, embedding),
        query=_parse_query(reader, tables.get("query", {})),
        remote=_parse_remote(reader, tables.get("remote", {})),
        # Settings that shape answers only must not lead to another store (CF-2).
        file_hash=_hash({"index": index, "embedding": embedding}) if index or embedding else "",
    )


def config_fingerprint(settings: Settings) -> str:
    """The hash of everything that changes what the index contains (CF-2)."""
    return _hash(
        {
            "index": _index_identity(settings.index),
            "embedding": embedder_identity(settings.embedding),
            "embedded": versions.DOCUMENT_VERSION,
            "embedding_settings": _embedding_identity(settings.embedding),
            "file": settings.file_hash,
            "grammars": versions.GRAMMAR_VERSION,
            "extractor": versions.EXTRACTOR_VERSION,
            "chunker": versions.CHUNKER_VERSION,
            "tokens": versions.TOKENS_VERSION,
            "schemas": versions.stored_versions(),
        }
    )


def _index_identity(settings: IndexSettings) -> dict[str, Any]:
    """Settings of later releases count only where they are used, so that older stores keep their fingerprint."""
    identity = asdict(settings)
    if not settings.clean_only:
        del identity["clean_only"]
    return identity


def _embedding_identity(settings: EmbedSettings) -> dict[str, Any]:
    """Without the directory of the model on this machine: the revision identifies its content."""
    identity = asdict(replace(settings, batch=0))
    del identity["directory"]
    return identity


def query_fingerprint(settings: Settings) -> str:
    """The hash of ranking, quotas and output settings, which change answers and never the index."""
    return _hash({"query": asdict(settings.query), "ranking": versions.RANKING_VERSION})


def marker_fingerprint(settings: Settings, dimension: int) -> dict[str, Any]:
    """The tuple a completion marker must match exactly (EN-4)."""
    return {
        "embeddingProvider": settings.embedding.provider,
        "embeddingModel": embedder_identity(settings.embedding),
        "embeddingDimension": dimension,
        "vectorStoreProvider": "lancedb",
        "schemaVersion": versions.MATRIX["chunk_rows"].current,
    }


class _RepoConfigReader:
    """Typed access to a table, with errors that point into the file."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()

    def error(self, table: str, key: str, message: str) -> ConfigError:
        name = f"{table}.{key}" if key else table
        shown_name = name if _BARE.fullmatch(name) else quote_text(name)
        return ConfigError(
            f"{FILE_NAME} line {self._find_line(table, key)}: {shown_name}: {message}",
            hint=f"fix {FILE_NAME}",
            key=shown_name,
        )

    def reject_unknown_keys(self, name: str, table: Mapping[str, Any], allowed: set[str]) -> None:
        for key in table:
            if key not in allowed:
                raise self.error(name, key, f"unknown key, expected one of {', '.join(sorted(allowed))}")

    def read_text(self, name: str, table: Mapping[str, Any], key: str, default: str) -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            raise self.error(name, key, f"must be text, found {_format_value(value)}")
        return value

    def read_flag(self, name: str, table: Mapping[str, Any], key: str, default: bool) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            raise self.error(name, key, f"must be true or false, found {_format_value(value)}")
        return value

    def read_number(
        self, name: str, table: Mapping[str, Any], key: str, *, default: int, low: int, high: int
    ) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, key, f"must be a whole number, found {_format_value(value)}")
        if not low <= value <= high:
            raise self.error(name, key, f"must be between {low} and {high}, found {value}")
        return value

    def read_texts(self, name: str, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(name, key, f"must be a list of texts, found {_format_value(value)}")
        return tuple(value)

    def read_globs(self, name: str, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        for glob in (patterns := self.read_texts(name, table, key)):
            if not glob or glob.startswith(("/", "!")) or ".." in glob.split("/") or "\0" in glob:
                raise self.error(name, key, f"{quote_text(glob)} must be a pattern below the repository root")
        return patterns

    def _find_line(self, table: str, key: str) -> int:
        """The line of the key; tomllib does not report it."""
        bare_key = re.compile(rf"\s*[\"']?{re.escape(key or table)}[\"']?\s*[.=]")
        dotted_key = re.compile(rf"\s*{re.escape(table)}\s*(\.\s*{re.escape(key)}\s*)?=")
        in_table = False
        for number, line in enumerate(self._lines, 1):
            stripped = line.strip()
            if stripped.startswith("["):
                in_table = stripped.lstrip("[").partition("]")[0].strip() == table
                if in_table and not key:
                    return number
            elif ((in_table or not key) and bare_key.match(line)) or dotted_key.match(line):
                return number
        return 1


def _parse_index(reader: _RepoConfigReader, table: Mapping[str, Any]) -> IndexSettings:
    limit_keys = {"max_file_bytes", "max_chunks_per_file", "max_sync_bytes"}
    plain_keys = {"include", "exclude", "untracked", "clean_only", "submodules", "chunk_chars"}
    reader.reject_unknown_keys("index", table, plain_keys | limit_keys)
    hard_limits = Limits()
    limits = Limits(
        file_bytes=reader.read_number(
            "index",
            table,
            "max_file_bytes",
            default=hard_limits.file_bytes,
            low=1,
            high=hard_limits.file_bytes,
        ),
        chunks_per_file=reader.read_number(
            "index",
            table,
            "max_chunks_per_file",
            default=hard_limits.chunks_per_file,
            low=2,
            high=hard_limits.chunks_per_file,
        ),
        sync_bytes=reader.read_number(
            "index",
            table,
            "max_sync_bytes",
            default=hard_limits.sync_bytes,
            low=1024,
            high=hard_limits.sync_bytes,
        ),
    )
    defaults = IndexSettings()
    return IndexSettings(
        limits=limits,
        include=reader.read_globs("index", table, "include"),
        exclude=reader.read_globs("index", table, "exclude"),
        untracked=reader.read_flag("index", table, "untracked", defaults.untracked),
        clean_only=reader.read_flag("index", table, "clean_only", defaults.clean_only),
        submodules=reader.read_flag("index", table, "submodules", defaults.submodules),
        chunk_chars=reader.read_number(
            "index", table, "chunk_chars", default=defaults.chunk_chars, low=200, high=4000
        ),
    )


def _parse_embedding(reader: _RepoConfigReader, table: Mapping[str, Any]) -> EmbedSettings:
    reader.reject_unknown_keys("embedding", table, {"provider", "model", "revision", "max_chars", "batch"})
    defaults = EmbedSettings()
    provider = reader.read_text("embedding", table, "provider", defaults.provider)
    model = reader.read_text("embedding", table, "model", "")
    revision = reader.read_text("embedding", table, "revision", "")
    if ":" in provider:  # "sentence-transformers:<model>[@revision]" in one line
        provider, _, rest = provider.partition(":")
        model, _, revision = rest.partition("@")
    if provider not in KNOWN_PROVIDERS:
        raise reader.error(
            "embedding", "provider", f"{quote_text(provider)} is not one of {', '.join(PROVIDERS)}"
        )
    if provider == "sentence-transformers" and not model:
        raise reader.error("embedding", "provider", "needs a model: sentence-transformers:org/name@revision")
    if not _MODEL.fullmatch(model) and model:
        raise reader.error(
            "embedding", "model" if "model" in table else "provider",
            f"{quote_text(model)} is not the name of a model: a repository names org/name@revision of the hub, or "
            "a name for which [models] in your own config.toml has a directory",
        )  # fmt: skip
    return EmbedSettings(
        provider=provider,
        model=model,
        revision=revision,
        max_chars=reader.read_number(
            "embedding", table, "max_chars", default=defaults.max_chars, low=100, high=100_000
        ),
        batch=reader.read_number("embedding", table, "batch", default=defaults.batch, low=1, high=4096),
    )


def _parse_query(reader: _RepoConfigReader, table: Mapping[str, Any]) -> QuerySettings:
    reader.reject_unknown_keys("query", table, {"limit", "snippet_lines", "per_file", "max_answer_chars"})
    defaults = QuerySettings()
    return QuerySettings(
        limit=reader.read_number("query", table, "limit", default=defaults.limit, low=1, high=200),
        snippet_lines=reader.read_number(
            "query", table, "snippet_lines", default=defaults.snippet_lines, low=1, high=200
        ),
        per_file=reader.read_number("query", table, "per_file", default=defaults.per_file, low=1, high=100),
        max_answer_chars=reader.read_number(
            "query", table, "max_answer_chars", default=defaults.max_answer_chars, low=1000, high=1_000_000
        ),
    )


def _parse_remote(reader: _RepoConfigReader, table: Mapping[str, Any]) -> RemoteProposal:
    reader.reject_unknown_keys("remote", table, {"url", "keys", "branches", "repository"})
    url = reader.read_text("remote", table, "url", "")
    if url and not url.startswith(("s3://", "file://")):
        raise reader.error("remote", "url", f"{quote_text(url)} must start with s3:// or file://")
    if not url.isprintable() or " " in url:
        raise reader.error("remote", "url", f"{quote_text(url)} must be one printable word")
    repository = reader.read_text("remote", table, "repository", "")
    if repository and not _REPOSITORY.fullmatch(repository):
        raise reader.error("remote", "repository", f"{quote_text(repository)} is not a repository id")
    return RemoteProposal(
        url,
        reader.read_texts("remote", table, "keys"),
        reader.read_texts("remote", table, "branches"),
        repository,
    )


def _format_value(value: object) -> str:
    """A value of the file for a message: a flag as it is, any other value quoted and shortened."""
    return (
        str(value).lower()
        if isinstance(value, bool)
        else quote_text(value if isinstance(value, str) else repr(value))
    )


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
