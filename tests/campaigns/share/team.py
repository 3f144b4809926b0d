"""A team on one machine: an origin, a CI role and teammates, each with a home of their own, and one remote."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from gitindex.config import Environment
from gitindex.lifecycle.digest import Digest
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.audit import audit
from gitindex.ops.sharing import trusted_keys
from gitindex.ops.sharing.build import build
from gitindex.ops.sharing.build_options import BuildOptions, BuildReport
from gitindex.ops.sharing.fetch import FetchOptions, fetch
from gitindex.ops.sharing.fetch_report import FetchReport
from gitindex.ops.sharing.push import PushOptions, PushReport, push
from gitindex.ops.sharing.trusted_keys import PinRequest
from gitindex.remote.connect import open_transport
from gitindex.remote.remote_layout import Names
from gitindex.remote.transport import RemoteOptions, Timeouts, Transport, get
from gitindex.trust import keys
from tests.support import harness
from tests.support.gitrepo import GitRepo

RESTLESS = Timeouts(attempts=3, back_off=0.0)  # no pauses; deadlines as for users, the machine may be busy
FILES = {
    "a.py": "import b\n\n\ndef alpha(x):\n    return b.beta(x) + 1\n",
    "b.py": "def beta(x):\n    return x * 2\n",
    "pkg/deep.py": "class Deep:\n    def method(self):\n        return alpha(1)\n",
    "notes.md": "---\ntags: [index]\ncreated: 2026-01-02\n---\n# Notes\n\nHow snapshots travel.\n",
}


@dataclass(frozen=True)
class Team:
    where: Path
    origin: GitRepo
    url: str
    endpoint: str = ""

    @classmethod
    def create(cls, where: Path, url: str, endpoint: str = "") -> Team:
        keys.generate(where / "key", "ci")
        team = cls(where, GitRepo.create(where / "origin"), url, endpoint)
        team.commit("A", **FILES)
        return team

    @property
    def ci(self) -> Environment:
        return Environment(
            self.where / "ci",
            signing_key_file=str(self.where / "key"),
            remote=self.url,
            endpoint=self.endpoint,
            ci=True,
        )

    @property
    def mate(self) -> Environment:
        """With the variables of the environment, as from the command line: reads then need no boto3."""
        variables = dict(os.environ)
        return Environment(self.where / "mate", remote=self.url, endpoint=self.endpoint, variables=variables)

    @property
    def transport(self) -> Transport:
        return open_transport(self.url, RemoteOptions(self.endpoint, attempts=2))

    @property
    def names(self) -> Names:
        return Names(self.repository)

    @property
    def repository(self) -> str:
        return self.origin.git("rev-list", "--max-parents=0", "HEAD").split()[-1]

    def commit(self, message: str = "change", **files: str | bytes) -> str:
        return self.origin.commit(message, **files)

    def build(self, rev: str = "HEAD", environment: Environment | None = None, **options) -> BuildReport:
        return build(
            self.origin.root,
            environment or self.ci,
            BuildOptions(rev, exact_facts=False, workers=1, **options),
        )

    def push(self, rev: str = "HEAD", environment: Environment | None = None, **options) -> PushReport:
        return push(
            self.origin.root, environment or self.ci, PushOptions(rev=rev, patience=RESTLESS, **options)
        )

    def publish(self, rev: str = "HEAD", **options) -> PushReport:
        self.build(rev, **options)
        return self.push(rev)

    def clone(self, name: str = "clone", *options: str) -> GitRepo:
        subprocess.run(
            ["git", "clone", "-q", *options, self.origin.root.as_uri(), str(self.where / name)], check=True
        )
        return GitRepo(self.where / name)

    def trust(self, repo: GitRepo, *files: Path, environment: Environment | None = None, **wish) -> None:
        public = trusted_keys.load_keys(files or [self.where / "key.pub"])
        trusted_keys.add(repo.root, environment or self.mate, PinRequest(public, **wish))

    def fetch(self, repo: GitRepo, environment: Environment | None = None, **options) -> FetchReport:
        found = {"workers": 1, "patience": RESTLESS, **options}
        return fetch(open_codebase(repo.root, environment or self.mate), FetchOptions(**found))

    def digest(self, repo: GitRepo, environment: Environment | None = None) -> Digest:
        """The digest of the teammate's index, whose every check must pass."""
        found = audit(open_codebase(repo.root, environment or self.mate))
        assert found.problems == ()
        return found.digest

    def clean(self, repo: GitRepo) -> Digest:
        return harness.clean_digest(repo.root, self.where / "scratch")

    def objects(self) -> dict[str, bytes]:
        """Everything on the remote."""
        transport = self.transport
        return {entry.key: get(transport, entry.key, max_bytes=1 << 30) for entry in transport.list("v1/")}

    def store(self, environment: Environment | None = None) -> dict[str, str]:
        """Every file of every index of a home, by hash; locks and logs are not the index."""
        return tree((environment or self.mate).home / "data")


def tree(where: Path) -> dict[str, str]:
    return {
        path.relative_to(where).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(where.rglob("*"))
        if path.is_file() and not {"locks", "logs"} & set(path.parts)
    }


def unpacked(data: bytes) -> bytes:
    """The raw content of a stored object; anything else as it is."""
    try:
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
    except zstandard.ZstdError:
        return data


def pinned(team: Team, repo: GitRepo, environment: Environment | None = None):
    """What is in force in a clone."""
    return trusted_keys.read_trust(repo.root, environment or team.mate).trust


def many_files(count: int) -> Iterator[tuple[str, str]]:
    """A project of some size, with text that does not compress to nothing."""
    for number in range(count):
        body = "\n\n".join(_function(number, at) for at in range(20))
        yield f"src/m{number % 10}/file_{number}.py", body + "\n"


def _function(number: int, at: int) -> str:
    noise = hashlib.sha256(f"{number}/{at}".encode()).hexdigest()
    return f"def f_{noise[:6]}_{number}(value):\n    '''{noise}'''\n    return value + {at}"
