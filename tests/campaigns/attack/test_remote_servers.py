"""Servers that answer without end, too slowly or from elsewhere: a named error in time, and the index as it was."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitindex.errors import (
    GitindexError,
    OutcomeUnknown,
    RemoteMisbehaves,
    RemoteRedirected,
    RemoteTooSlow,
)
from gitindex.ops.sharing import trusted_keys
from gitindex.ops.sharing.trusted_keys import PinRequest
from gitindex.remote import collection, stored_objects
from gitindex.remote.connect import open_transport
from gitindex.remote.download import PendingDownload, download
from gitindex.remote.probe import ManifestSearch
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.transport import RemoteOptions, Timeouts, Transport, get
from gitindex.remote.upload import PendingUpload, find_existing, upload
from tests.campaigns.attack.hostile_server import HostileServer, Request
from tests.campaigns.share.team import Team
from tests.remote.made import NAMES
from tests.remote.servers import BUCKET, Server
from tests.support.gitrepo import GitRepo
from tests.support.harness import index

URL = f"s3://{BUCKET}/attack"
KEY = "v1/r0/obj/aa/thing"
FINGERPRINT = "f" * 64
FAR = 60.0  # seconds; the deadlines below are a second or two, without them it goes on for ever
HASTY = Timeouts(
    attempts=1,
    back_off=0.0,
    object_seconds=1.0,
    bytes_per_second=1 << 20,
    each_seconds=0.0,
    search_seconds=2.0,
)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in Server("", conditional=True).environment.items():
        monkeypatch.setenv(name, value)


def connect(server: HostileServer, *, signed: bool = False, **options: Any) -> Transport:
    """Sockets are patient here: only a clock beside them ends the wait."""
    variables = Server(server.endpoint, conditional=True).environment if signed else {}
    chosen = {"attempts": 1, "call_seconds": 1.0, "list_seconds": 2.0, "read_timeout": FAR, **options}
    return open_transport(URL, RemoteOptions(server.endpoint, variables=variables, **chosen))


def raised(work: Callable[[], object]) -> GitindexError:
    """The error of something that might never end: then the test does."""
    caught: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            caught.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(FAR)
    assert not thread.is_alive(), "it went on"
    assert caught, "no error at all"
    assert isinstance(caught[0], GitindexError), repr(caught[0])
    return caught[0]


# -- pages -----------------------------------------------------------------------------------------


def pages(kind: str) -> Callable[[Request], None]:
    count = itertools.count()

    def answer(request: Request) -> None:
        if not request.lists:
            return request.missing()
        number = next(count)
        if kind == "empty":
            return request.page(f"t{number}")
        if kind == "cycle":
            return request.page("ab"[number % 2], f"attack/v1/k{number:06}")
        return request.page(f"t{number}", "attack/v1/same")

    return answer


@pytest.mark.parametrize("kind", ["empty", "cycle", "same"])
def test_a_listing_that_leads_nowhere_is_refused(kind: str) -> None:
    """EN-8: empty pages without end, tokens that go round, keys that come again."""
    with HostileServer(pages(kind)) as server:
        transport = connect(server, call_seconds=FAR, list_seconds=FAR)
        error = raised(lambda: list(transport.list("v1/")))
        assert isinstance(error, RemoteMisbehaves)
        assert error.exit_code == 6
        assert len(server.seen) < 50


def test_a_listing_of_ever_new_keys_ends_at_its_deadline() -> None:
    """EN-8: what breaks no rule of paging has a deadline for the whole, in a search and in a collection."""
    count = itertools.count()

    def answer(request: Request) -> None:
        if not request.lists:
            return request.missing()
        number = next(count)
        return request.page(f"t{number}", f"attack/{NAMES.manifests_prefix}k{number:09}")

    with HostileServer(answer) as server:
        transport = connect(server, call_seconds=FAR)
        assert isinstance(raised(lambda: collection.read_inventory(transport, NAMES)), RemoteTooSlow)
        patient = connect(server, call_seconds=FAR, list_seconds=FAR)
        commits = [f"{number:040x}" for number in range(200)]
        search = ManifestSearch(patient, NAMES, FINGERPRINT, timeouts=replace(HASTY, search_seconds=5.0))
        assert isinstance(raised(lambda: list(search.find_manifests(commits))), RemoteTooSlow)


def test_answers_that_say_too_little_are_named() -> None:
    """RE-6: an object without size, time or key is the server's mistake, not a defect of ours."""

    def answer(request: Request) -> None:
        if not request.lists:
            return request.send(200)
        return request.send(200, b"<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>")

    with HostileServer(answer) as server:
        transport = connect(server, call_seconds=FAR)
        assert isinstance(raised(lambda: list(transport.list("v1/"))), RemoteMisbehaves)
        assert isinstance(raised(lambda: transport.head(KEY)), RemoteMisbehaves)


# -- redirects -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("signed", [False, True])
def test_redirects_are_not_followed(status: int, signed: bool) -> None:
    """RE-10: to itself (it was asked 1,385 times) or to another host, which never hears of our credentials."""
    with HostileServer(Request.missing) as other, HostileServer(Request.missing) as server:
        for target in (server, other):
            server.answer = lambda request, to=target: request.send(
                status,
                b"<Error><Code>TemporaryRedirect</Code></Error>",
                Location=f"{to.endpoint}{request.path}",
            )
            transport = connect(server, signed=signed, call_seconds=FAR)
            for work in (
                lambda transport=transport: get(transport, KEY, max_bytes=10),
                lambda transport=transport: transport.head(KEY),
                lambda transport=transport: list(transport.list("v1/")),
                lambda transport=transport: transport.put(KEY, b"x"),
                lambda transport=transport: transport.put_if_absent(KEY, b"x"),
                lambda transport=transport: transport.delete(KEY),
            ):
                before = len(server.seen)
                error = raised(work)
                assert isinstance(error, RemoteRedirected), repr(error)
                assert error.exit_code == 6
                assert len(server.seen) - before <= 2
        assert other.seen == []


# -- drips -----------------------------------------------------------------------------------------

DRIPS = [Request.drip_headers, Request.drip_body, Request.drip_chunk_size]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("drip", DRIPS)
def test_an_object_that_drips_has_a_deadline(
    drip: Callable[[Request], None], signed: bool, tmp_path: Path
) -> None:
    """EN-8: in the headers, in the body and between its pieces; alone, among probes and among downloads."""
    with HostileServer(drip) as server:
        transport = connect(server, signed=signed)
        assert isinstance(raised(lambda: get(transport, KEY, max_bytes=2000, seconds=1.0)), RemoteTooSlow)
        search = ManifestSearch(transport, NAMES, FINGERPRINT, timeouts=HASTY)
        assert isinstance(raised(lambda: list(search.find_manifests(["a" * 40]))), RemoteTooSlow)
        packed = PackedArtifact(sha256="a" * 64, size=1000, raw_sha256="b" * 64, raw_size=1000)
        wanted = [PendingDownload(KEY, packed, (tmp_path / "thing",))]
        late = raised(lambda: download(transport, wanted, tmp_path / "partials", timeouts=HASTY))
        assert isinstance(late, RemoteTooSlow)
        assert late.exit_code == 6
        assert not (tmp_path / "thing").exists()


def test_every_other_question_has_a_deadline() -> None:
    """EN-8: a write that was given up may have landed; the rest changed nothing."""
    with HostileServer(Request.drip_headers) as server:
        transport = connect(server)
        assert isinstance(raised(lambda: transport.head(KEY)), RemoteTooSlow)
        assert isinstance(raised(lambda: list(transport.list("v1/"))), RemoteTooSlow)
        assert isinstance(raised(lambda: find_existing(transport, [KEY])), RemoteTooSlow)
        assert isinstance(raised(lambda: transport.put(KEY, b"x")), OutcomeUnknown)
        assert isinstance(raised(lambda: transport.put_if_absent(KEY, b"x")), OutcomeUnknown)
        assert isinstance(raised(lambda: transport.delete(KEY)), OutcomeUnknown)
        sent = raised(lambda: upload(transport, [PendingUpload(KEY, 1, b"x")], timeouts=HASTY))
        assert sent.exit_code == 6


def test_answers_that_each_come_in_time_share_one_deadline(tmp_path: Path) -> None:
    """EN-8: every single answer is quick enough; one after the other they would go on for a multiple of what is allowed."""
    raw = tmp_path / "raw"
    raw.write_bytes(b"content")
    packed = stored_objects.pack_file(raw, tmp_path / "packed")
    stored = (tmp_path / "packed").read_bytes()

    def late(request: Request) -> None:
        request.server.hostile.closing.wait(0.5)
        if "/obj/" in request.path and request.command == "GET":
            return request.send(200, stored)
        return request.send(200) if request.command == "PUT" else request.missing()

    with HostileServer(late) as server:
        transport = connect(server, call_seconds=FAR)
        commits = [f"{number:040x}" for number in range(32)]
        search = ManifestSearch(transport, NAMES, FINGERPRINT, threads=1, timeouts=HASTY)
        assert isinstance(raised(lambda: list(search.find_manifests(commits))), RemoteTooSlow)
        wanted = [PendingDownload(f"v1/r0/obj/aa/{at}", packed, (tmp_path / f"got{at}",)) for at in range(12)]
        fetching = raised(lambda: download(transport, wanted, tmp_path / "parts", threads=1, timeouts=HASTY))
        assert isinstance(fetching, RemoteTooSlow)
        outgoing = [PendingUpload(f"v1/r0/new/{at}", 1, b"x") for at in range(12)]
        sending = raised(lambda: upload(transport, outgoing, threads=1, timeouts=HASTY))
        assert isinstance(sending, RemoteTooSlow)


# -- a whole fetch ---------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Team, GitRepo]:
    """Seventy commits, none of them published, and an index that was built here."""
    team = Team.create(tmp_path, URL)
    for number in range(70):
        team.origin.git("commit", "-q", "--allow-empty", "-m", f"number {number}")
    return team, team.clone()


def redirect_to_self(request: Request) -> None:
    request.send(307, b"<Error><Code>TemporaryRedirect</Code></Error>", Location=request.path)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (pages("empty"), RemoteMisbehaves),
        (redirect_to_self, RemoteRedirected),
        (Request.drip_headers, RemoteTooSlow),
    ],
    ids=["pages", "redirect", "drip"],
)
def test_a_fetch_ends_and_leaves_the_index_as_it_was(
    clone: tuple[Team, GitRepo],
    answer: Callable[[Request], None],
    wanted: type[GitindexError],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """EN-8, RE-6: the attack that hung needs more than 64 commits without a manifest, so that the remote is listed."""
    team, repo = clone
    with HostileServer(answer) as server:
        through = replace(team.mate, endpoint=server.endpoint)
        index(repo.root, through.home)
        team.trust(repo, environment=through)
        trusted_keys.add(repo.root, through, PinRequest(remote=team.url))
        before = team.store(through)
        if answer is Request.drip_headers:
            monkeypatch.setattr("gitindex.ops.sharing.published_snapshots.ManifestSearch", hurried)
        error = raised(lambda: team.fetch(repo, through))
        assert isinstance(error, wanted)
        assert error.exit_code == 6
        assert team.store(through) == before
        assert len(server.seen) < 400


def hurried(*arguments: Any) -> ManifestSearch:
    return ManifestSearch(*arguments, timeouts=HASTY)
