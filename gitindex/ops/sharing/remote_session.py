"""Open a remote session: repository id, remote URL and trust policy. Every sharing command starts here.

A repository's own file can propose a remote, keys and an id. The remote and the keys take effect only when the user
pins them (RE-5), and then in that clone. The id is a name that anybody can claim; a signature binds it to the commit.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from gitindex import config
from gitindex.config import Environment
from gitindex.errors import Untrusted, UsageError
from gitindex.git.history import configure, first_root, read_config
from gitindex.git.repo import Repo, has_commit, resolve
from gitindex.model.foreign import quote_text
from gitindex.model.settings import RemoteProposal, Settings
from gitindex.model.versions import PUBLISHED_FORMAT
from gitindex.remote.connect import open_transport
from gitindex.remote.remote_layout import Names
from gitindex.remote.transport import RemoteOptions, Transport
from gitindex.store import layout
from gitindex.trust import pinfile, pins
from gitindex.trust.claim import REPOSITORY_PATTERN
from gitindex.trust.pinjson import MARK
from gitindex.trust.pins import RepositoryTrust
from gitindex.trust.scopes import Clone
from gitindex.trust.verify import Binding, TrustPolicy

CONFIG_KEY = "gitindex.repository"
CLONE_KEY = "gitindex.clone"


@dataclass(frozen=True, slots=True)
class RemoteSession:
    """One repository on one remote, with the policy by which its claims are verified."""

    repo: Repo
    repository: str
    fingerprint: str
    url: str
    endpoint: str
    transport: Transport
    policy: TrustPolicy
    clone: Clone

    @property
    def names(self) -> Names:
        return Names(self.repository)

    def binding(self, commit: str) -> Binding:
        """What a claim about `commit` must say, from the local repository. Raises GitError without the commit."""
        return self._binding(commit, self.tree(commit))

    def binding_outside_history(self, commit: str) -> Binding:
        """The same for a commit that this clone may not have; its tree is then not compared."""
        return self._binding(commit, self.tree(commit) if has_commit(self.repo, commit) else None)

    def tree(self, commit: str) -> str:
        tree = resolve(self.repo, commit).tree
        assert tree is not None
        return tree

    def _binding(self, commit: str, tree: str | None) -> Binding:
        return Binding(self.repository, commit, tree, self.fingerprint, PUBLISHED_FORMAT)


def published_fingerprint(settings: Settings) -> str:
    """The config fingerprint of published snapshots. A build of a commit holds neither untracked files nor submodules,
    so these settings of a store (ST-3, EL-4) make no difference to what it can fetch."""
    index = replace(settings.index, untracked=True, clean_only=False, submodules=False)
    return config.config_fingerprint(replace(settings, index=index))


def find_repository_id(repo: Repo, proposal: RemoteProposal, commit: str = "HEAD") -> str:
    """`gitindex.repository` of the user's git configuration, else the root commit, else what the repository proposes.

    Raises UsageError when none of them is known, or the configured one is no id.
    """
    repository = read_config(repo, CONFIG_KEY) or first_root(repo, commit) or proposal.repository
    if not repository:
        raise UsageError(
            "a shallow clone does not know its repository id",
            hint="see gitindex trust list in a full clone, then: gitindex trust add --repository ID",
        )
    if not REPOSITORY_PATTERN.fullmatch(repository):
        raise UsageError(f"{CONFIG_KEY} is {quote_text(repository)}, which is no repository id")
    return repository


def pin_file(environment: Environment) -> Path:
    return layout.pin_file(environment.home)


def identify_clone(repo: Repo) -> Clone:
    """This clone, by the mark and the path that pins refer to."""
    mark = read_config(repo, CLONE_KEY)
    return Clone(mark if MARK.fullmatch(mark) else "", repo.common_dir.as_uri())


def mark_clone(repo: Repo, *, renew: bool = False) -> Clone:
    """This clone with a mark; a new one is written to its git configuration when it has none, or with `renew`."""
    clone = identify_clone(repo)
    if clone.mark and not renew:
        return clone
    configure(repo, CLONE_KEY, secrets.token_hex(16))
    return identify_clone(repo)


def load_pin(environment: Environment, repo: Repo, repository: str) -> RepositoryTrust:
    """The pin in force in this clone. Raises Untrusted (somebody else's file), ConfigError (damaged)."""
    return pinfile.load(pin_file(environment)).trust_for(repository, identify_clone(repo))


def find_endpoint(url: str, environment: Environment) -> str:
    return environment.endpoint if url.startswith("s3:") else ""


def choose_remote_url(
    requested: str,
    environment: Environment,
    trust: RepositoryTrust,
    proposal: RemoteProposal,
    option: str = "--from",
) -> str:
    """The URL that the user requested now, set in the environment, or pinned. A proposal alone is refused (RE-5).

    Raises Untrusted for a remote that only the repository proposes, UsageError without any.
    """
    url = requested or environment.remote or trust.remote
    if url:
        return url
    if proposal.url:
        raise Untrusted(
            f"the repository proposes {quote_text(proposal.url)}, but no remote is pinned for it",
            hint="gitindex trust add --proposed",
            proposed=proposal.url,
        )
    raise UsageError(
        "no remote is known for this repository", hint=f"name one: {option} URL or GITINDEX_REMOTE"
    )


def open_reader(
    *,
    repo: Repo,
    repository: str,
    fingerprint: str,
    environment: Environment,
    proposal: RemoteProposal,
    requested: str = "",
) -> RemoteSession:
    """A session to read from. Raises Untrusted before any contact when the pins do not cover the remote."""
    trust = load_pin(environment, repo, repository)
    url = choose_remote_url(requested, environment, trust, proposal)
    policy = pins.require_policy(trust, url, find_endpoint(url, environment))
    return _open_session(
        repo=repo,
        repository=repository,
        fingerprint=fingerprint,
        url=url,
        environment=environment,
        policy=policy,
    )


def open_writer(
    *,
    repo: Repo,
    repository: str,
    fingerprint: str,
    environment: Environment,
    requested: str,
    policy: TrustPolicy,
) -> RemoteSession:
    """A session to publish to; what it reads is verified by `policy`. A URL that is only proposed is refused."""
    url = choose_remote_url(
        requested, environment, load_pin(environment, repo, repository), RemoteProposal(), "--to"
    )
    return _open_session(
        repo=repo,
        repository=repository,
        fingerprint=fingerprint,
        url=url,
        environment=environment,
        policy=policy,
    )


def _open_session(
    *, repo: Repo, repository: str, fingerprint: str, url: str, environment: Environment, policy: TrustPolicy
) -> RemoteSession:
    endpoint = find_endpoint(url, environment)
    transport = open_transport(url, RemoteOptions(endpoint, variables=environment.variables))
    return RemoteSession(
        repo=repo,
        repository=repository,
        fingerprint=fingerprint,
        url=url,
        endpoint=endpoint,
        transport=transport,
        policy=policy,
        clone=identify_clone(repo),
    )
