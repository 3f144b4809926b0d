"""RE-5: pins, proposals, rotation, revocation, endpoints; refusals that say what to run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitindex.errors import RemoteUnavailable, Untrusted, UsageError
from gitindex.ops.sharing import trusted_keys
from gitindex.ops.sharing.trusted_keys import PinRequest
from gitindex.trust import envelope as envelopes
from gitindex.trust import keys
from gitindex.trust.revoked import is_revoked
from tests.campaigns.share.team import Team, pinned
from tests.support import harness
from tests.trust.made import signing_key


def test_an_unsigned_remote_is_refused_with_the_commands_to_run(team: Team, monkeypatch: pytest.MonkeyPatch):
    """The refusal names the command; that command, run as printed, helps."""
    team.publish()
    repo = team.clone()
    monkeypatch.setenv("GITINDEX_HOME", str(team.mate.home))
    monkeypatch.setenv("GITINDEX_REMOTE", team.url)
    ran = harness.cli("fetch", "--path", str(repo.root), "--json")
    assert ran.code == 5
    assert ran.json["error"]["hint"] == "gitindex trust add FILE.pub"
    assert harness.cli("trust", "add", str(team.where / "key.pub"), "--path", str(repo.root)).code == 0
    assert harness.cli("fetch", "--path", str(repo.root), "--json").json["status"] == "ok"


def test_key_leak_drill(anywhere: Team):
    """Revoke, sign again, fetch: the old is refused, the new accepted."""
    team = anywhere
    team.publish()
    repo = team.clone()
    team.trust(repo)
    team.fetch(repo)
    keys.generate(team.where / "new", "ci 2")
    known = trusted_keys.revoke(repo.root, team.mate, str(team.where / "key.pub"))
    assert [entry.comment for entry in known.trust.revoked] == ["ci"]
    team.trust(repo, team.where / "new.pub")
    before = team.store()
    with pytest.raises(Untrusted, match="revoked") as refused:
        team.fetch(repo)
    assert refused.value.exit_code == 5
    assert team.store() == before
    again = team.push(environment=replace(team.ci, signing_key_file=str(team.where / "new")))
    assert again.manifest == "created"
    assert again.objects["uploaded"] == 1, "only the manifest is new"
    done = team.fetch(repo)
    assert done.signer == keys.load_public(team.where / "new.pub").id
    with pytest.raises(UsageError, match="revoked"):
        team.trust(repo)


def test_answers_say_that_their_signer_was_revoked(team: Team, monkeypatch: pytest.MonkeyPatch):
    """RE-5, QU-6: what was verified on arrival is not verified for ever; no server is asked, nothing is written."""
    team.publish()
    repo = team.clone()
    team.trust(repo)
    signer = team.fetch(repo).signer
    monkeypatch.setenv("GITINDEX_HOME", str(team.mate.home))

    def told(*command: str) -> dict[str, object]:
        return harness.cli(*command, "--json", "--path", str(repo.root)).json["trust"]

    assert told("status")["verified"] is True
    trusted_keys.revoke(repo.root, team.mate, signer)
    before = team.store()
    for command in (("status",), ("search", "alpha")):
        assert (told(*command)["verified"], told(*command)["signer"]) == (False, signer)
    assert "REVOKED" in harness.cli("status", "--path", str(repo.root)).out
    assert team.store() == before
    keys.generate(team.where / "new", "ci 2")
    team.trust(repo, team.where / "new.pub")
    team.push(environment=replace(team.ci, signing_key_file=str(team.where / "new")))
    team.fetch(repo)
    assert told("status")["verified"] is True


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"repositories": 1}', b'{"repositories": {"a": {}}}']
)
def test_an_unreadable_trust_file_vouches_for_nobody(content: bytes):
    assert is_revoked("SHA256:x", content)
    assert not is_revoked("SHA256:x", None)
    assert not is_revoked("SHA256:x", b'{"repositories": {"a": {"revoked": [{"id": "SHA256:y"}]}}}')


def test_rotation_by_dual_signatures(team: Team):
    """A trusted key hands over: readers adopt the new key without being asked, and say so."""
    team.publish()
    repo = team.clone()
    team.trust(repo)
    team.fetch(repo)
    new = keys.generate(team.where / "new", "ci 2")
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.build()
    handed = team.push(successors=(team.where / "new",))
    assert handed.successors == (new.id,)
    repo.git("pull", "-q")
    done = team.fetch(repo)
    assert done.rotated == (new.id,)
    assert [entry.by_rotation for entry in pinned(team, repo).trusted] == [False, True]
    team.commit("C", **{"c.py": "def gamma(): pass\n"})
    alone = replace(team.ci, signing_key_file=str(team.where / "new"))
    team.build(environment=alone)
    team.push(environment=alone)
    repo.git("pull", "-q")
    assert team.fetch(repo).signer == new.id


def test_a_stranger_cannot_append_a_successor(team: Team):
    """A signature added to somebody's envelope makes nobody trusted."""
    team.publish()
    repo = team.clone()
    team.trust(repo)
    key = next(entry.key for entry in team.transport.list(team.names.manifests_prefix))
    data = envelopes.decode(team.objects()[key])
    team.transport.put(key, envelopes.encode(envelopes.add_signatures(data, [signing_key("mallory")])))
    assert team.fetch(repo).rotated == ()
    assert len(pinned(team, repo).trusted) == 1


def test_a_threshold_needs_as_many_keys(team: Team):
    keys.generate(team.where / "second", "second")
    team.publish()
    repo = team.clone()
    team.trust(repo, team.where / "key.pub", team.where / "second.pub", threshold=2)
    with pytest.raises(Untrusted, match="1 of the 2 needed"):
        team.fetch(repo)
    team.push(successors=(team.where / "second",))
    assert team.fetch(repo).status == "ok"


def test_the_remote_is_pinned_at_first_use(team: Team):
    team.publish()
    repo = team.clone()
    team.trust(repo)
    team.fetch(repo)
    assert pinned(team, repo).remote == team.url
    elsewhere = replace(team.mate, remote=(team.where / "elsewhere").as_uri())
    with pytest.raises(Untrusted, match="is pinned for this repository") as refused:
        team.fetch(repo, elsewhere)
    assert refused.value.hint == f"gitindex trust add --remote {elsewhere.remote}"
    assert team.fetch(repo, replace(team.mate, remote="")).status == "ok", "the pin itself is enough"


def test_a_changed_endpoint_is_confirmed_like_a_changed_key(team: Team):
    repo = team.clone()
    url = "s3://bucket/prefix"
    here = replace(team.mate, remote=url, endpoint="https://good.example")
    trusted_keys.add(repo.root, here, PinRequest(trusted_keys.load_keys([team.where / "key.pub"]), url))
    with pytest.raises(Untrusted, match=r"evil\.example") as refused:
        team.fetch(repo, replace(here, endpoint="https://evil.example"))
    assert refused.value.hint == f"gitindex trust add --remote {url}"


def test_a_repository_proposes_and_only_the_user_pins(team: Team, monkeypatch: pytest.MonkeyPatch):
    """A tracked file names a remote and keys: nothing is contacted or trusted before `trust add --proposed`."""
    line = (team.where / "key.pub").read_text().strip()
    team.commit("propose", **{".gitindex.toml": f'[remote]\nurl = "{team.url}"\nkeys = ["{line}"]\n'})
    team.publish()
    repo = team.clone()
    monkeypatch.setenv("GITINDEX_HOME", str(team.mate.home))
    refused = harness.cli("fetch", "--path", str(repo.root), "--json")
    assert refused.code == 5
    assert refused.json["error"]["hint"] == "gitindex trust add --proposed"
    assert not (team.mate.home / "trust.json").exists()
    shown = harness.cli("trust", "list", "--path", str(repo.root), "--json").json
    assert (shown["trusted"], shown["proposed"]["url"]) == ([], team.url)
    added = harness.cli("trust", "add", "--proposed", "--yes", "--path", str(repo.root))
    assert added.code == 0
    assert keys.load_public(team.where / "key.pub").id in added.err, "fingerprints are shown first"
    assert harness.cli("fetch", "--path", str(repo.root)).code == 0


def test_an_unreachable_remote_leaves_everything_as_it_was(team: Team):
    """RE-6."""
    team.publish()
    repo = team.clone()
    team.trust(repo)
    team.fetch(repo)
    before = team.store()
    gone = (team.where / "missing" / "remote").as_uri()
    trusted_keys.add(repo.root, team.mate, PinRequest(remote=gone))
    with pytest.raises(RemoteUnavailable) as failed:
        team.fetch(repo, replace(team.mate, remote=gone))
    assert failed.value.exit_code == 6
    assert team.store() == before


def test_a_pin_file_that_others_may_write_is_not_believed(team: Team):
    team.publish()
    repo = team.clone()
    team.trust(repo)
    (team.mate.home / "trust.json").chmod(0o666)
    with pytest.raises(Untrusted, match="can be written by others"):
        team.fetch(repo)


def test_the_id_of_a_shallow_clone_is_set_by_the_user(team: Team, monkeypatch: pytest.MonkeyPatch):
    team.publish()
    repo = team.clone("shallow", "--depth=1")
    monkeypatch.setenv("GITINDEX_HOME", str(team.mate.home))
    monkeypatch.setenv("GITINDEX_REMOTE", team.url)
    where = ("--path", str(repo.root))
    assert harness.cli("trust", "list", *where, "--json").code == 2
    assert harness.cli("trust", "add", "--repository", "No Id", *where).code == 2
    key = str(team.where / "key.pub")
    assert harness.cli("trust", "add", key, "--repository", team.repository, *where).code == 0
    assert harness.cli("fetch", *where).code == 0
