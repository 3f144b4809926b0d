"""RE-4, RE-5, RE-6: whatever somebody does to the remote, fetch refuses it by name and the index stays as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import GitindexError, IntegrityError, Untrusted
from gitindex.model import portable
from gitindex.ops.sharing import trusted_keys
from gitindex.remote import stored_objects, toc
from gitindex.remote.toc import Toc, TocEntry
from gitindex.remote.transport import Transport
from gitindex.trust import claim as claims
from gitindex.trust import envelope as envelopes
from gitindex.trust import keys
from gitindex.trust.claim import SnapshotClaim
from gitindex.trust.keys import SigningKey
from tests.campaigns.share.team import Team, unpacked
from tests.trust.made import signing_key


class Attacker:
    """Write access to the remote; with `key`, also a signing key."""

    def __init__(self, team: Team, commit: str) -> None:
        self.team = team
        self.transport: Transport = team.transport
        self.manifests = {
            team.names.parse_manifest_key(entry.key): entry.key
            for entry in self.transport.list(team.names.manifests_prefix)
        }
        self.manifest = self.manifests[commit]
        self.envelope = envelopes.decode(self.get(self.manifest))
        self.claim = claims.decode(self.envelope.payload, limit=1 << 16)
        self.toc_key = team.names.object_key(self.claim.toc.sha256)
        self.table = toc.decode(unpacked(self.get(self.toc_key)))

    def get(self, key: str) -> bytes:
        with self.transport.open(key) as stream:
            return b"".join(stream.chunks)

    def put(self, key: str, data: bytes) -> None:
        self.transport.put(key, data)

    def object(self, suffix: str) -> str:
        """Of the newest segment: older ones may be here already."""
        found = next(entry for entry in reversed(self.table.entries) if entry.path.endswith(suffix))
        return self.team.names.object_key(found.packed.sha256)

    def sign(self, claim: SnapshotClaim, *signers: SigningKey) -> None:
        self.put(self.manifest, envelopes.encode(envelopes.sign(claims.encode(claim), signers)))

    def ci(self) -> SigningKey:
        return keys.load_private(self.team.where / "key")

    def republish(self, table: Toc, files: dict[str, bytes]) -> None:
        """Sign another table with the publisher's own key: what a broken or malicious publisher could do."""
        for data in files.values():
            packed, stored = stored_objects.pack_bytes(data)
            self.put(self.team.names.object_key(packed.sha256), stored)
        reference, stored = toc.pack(table)
        self.put(self.team.names.object_key(reference.sha256), stored)
        self.sign(replace(self.claim, toc=reference, totals=table.totals), self.ci())


def flip(attacker: Attacker) -> None:
    key = attacker.object("facts.sqlite")
    data = bytearray(attacker.get(key))
    data[len(data) // 2] ^= 1
    attacker.put(key, bytes(data))


def truncate(attacker: Attacker) -> None:
    key = attacker.object("facts.sqlite")
    attacker.put(key, attacker.get(key)[:-1])


def pad(attacker: Attacker) -> None:
    key = attacker.object("facts.sqlite")
    attacker.put(key, attacker.get(key) + b"\0")


def swap(attacker: Attacker) -> None:
    one, other = attacker.object("facts.sqlite"), attacker.object("meta.json")
    attacker.put(one, attacker.get(other))


def bomb(attacker: Attacker) -> None:
    attacker.put(attacker.object("facts.sqlite"), stored_objects.pack_bytes(bytes(64 << 20))[1])


def lose_object(attacker: Attacker) -> None:
    attacker.transport.delete(attacker.object("facts.sqlite"))


def lose_toc(attacker: Attacker) -> None:
    attacker.transport.delete(attacker.toc_key)


def flip_toc(attacker: Attacker) -> None:
    data = bytearray(attacker.get(attacker.toc_key))
    data[len(data) // 2] ^= 1
    attacker.put(attacker.toc_key, bytes(data))


def other_commit(attacker: Attacker) -> None:
    other = next(key for commit, key in attacker.manifests.items() if key != attacker.manifest)
    attacker.put(attacker.manifest, attacker.get(other))


def other_repository(attacker: Attacker) -> None:
    attacker.sign(replace(attacker.claim, repository="0" * 40), attacker.ci())


def other_configuration(attacker: Attacker) -> None:
    attacker.sign(replace(attacker.claim, config_fingerprint="0" * 64), attacker.ci())


def other_tree(attacker: Attacker) -> None:
    attacker.sign(replace(attacker.claim, tree="0" * 40), attacker.ci())


def unknown_key(attacker: Attacker) -> None:
    attacker.sign(attacker.claim, signing_key("mallory"))


def lying_key_id(attacker: Attacker) -> None:
    signed = envelopes.sign(claims.encode(attacker.claim), [signing_key("mallory")])
    lying = replace(signed.signatures[0], key_id=attacker.ci().public.id)
    attacker.put(attacker.manifest, envelopes.encode(replace(signed, signatures=(lying,))))


def unsigned(attacker: Attacker) -> None:
    attacker.sign(attacker.claim)


def edited_payload(attacker: Attacker) -> None:
    payload = attacker.envelope.payload.replace(b'"build_ms":', b'"build_ms":9')
    assert payload != attacker.envelope.payload
    attacker.put(attacker.manifest, envelopes.encode(replace(attacker.envelope, payload=payload)))


def edited_type(attacker: Attacker) -> None:
    data = json.loads(attacker.get(attacker.manifest))
    attacker.put(attacker.manifest, json.dumps({**data, "payloadType": "text/plain"}).encode())


def duplicate_keys(attacker: Attacker) -> None:
    text = attacker.get(attacker.manifest).decode()
    attacker.put(attacker.manifest, (text[:-1] + ',"payload":"AAAA"}').encode())


def oversized(attacker: Attacker) -> None:
    attacker.put(attacker.manifest, attacker.get(attacker.manifest) + b" " * (64 << 10))


def garbage(attacker: Attacker) -> None:
    attacker.put(attacker.manifest, b"\xff\xfe not json")


def escaping_path(attacker: Attacker) -> None:
    """A publisher's own signature does not make a name safe: nothing but artifacts can be installed."""
    packed, _ = stored_objects.pack_bytes(b"evil\n")
    entries = [*attacker.table.entries, TocEntry("ACTIVE_SNAPSHOT", packed)]
    manifest = next(one for one in entries if one.path == portable.NAME)
    described = json.loads(unpacked(attacker.get(attacker.team.names.object_key(manifest.packed.sha256))))
    described["lexical"]["artifacts"].append(
        {"path": "ACTIVE_SNAPSHOT", "size_bytes": packed.raw_size, "sha256": packed.raw_sha256}
    )
    data = json.dumps(described, sort_keys=True, separators=(",", ":")).encode()
    rest = [one for one in entries if one.path != portable.NAME]
    table = toc.make([*rest, TocEntry(portable.NAME, stored_objects.pack_bytes(data)[0])])
    attacker.republish(table, {"a": b"evil\n", "b": data})


def foreign_manifest(attacker: Attacker) -> None:
    """A signed table whose manifest describes other files than it lists."""
    entries = [one for one in attacker.table.entries if not one.path.endswith("tombstones.jsonl")]
    attacker.republish(toc.make(entries), {})


def no_manifest(attacker: Attacker) -> None:
    attacker.republish(toc.make([one for one in attacker.table.entries if one.path != portable.NAME]), {})


DAMAGE = (flip, truncate, pad, swap, bomb, lose_object, lose_toc, flip_toc, oversized)
DISHONEST = (escaping_path, foreign_manifest, no_manifest)
ELSEWHERE = (other_commit, other_repository, other_configuration, other_tree)
FORGED = (unknown_key, lying_key_id, unsigned, edited_payload, edited_type, duplicate_keys, garbage)
CASES = [
    *((attack, IntegrityError, 4) for attack in (*DAMAGE, *DISHONEST)),
    *((attack, Untrusted, 5) for attack in (*ELSEWHERE, *FORGED)),
]


def test_every_attack_is_refused(anywhere: Team):
    """Each attack on a remote of its own state: refused with its exit code, the index byte for byte the same."""
    team = anywhere
    team.publish()
    repo = team.clone()
    team.trust(repo)
    team.fetch(repo)
    head = team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.publish()
    repo.git("pull", "-q")
    old = repo.git("rev-parse", "HEAD~1")
    genuine = team.objects()
    before, answer = team.store(), team.digest(repo)
    for attack, kind, code in CASES:
        attacker = Attacker(team, head)
        attack(attacker)
        if attack is not other_commit:  # leave no ancestor to fall back to
            attacker.transport.delete(attacker.manifests[old])
        else:
            attacker.put(attacker.manifests[old], b"{}")
        with pytest.raises(GitindexError) as refused:
            team.fetch(repo)
        assert (isinstance(refused.value, kind), refused.value.exit_code) == (True, code), attack.__name__
        assert refused.value.hint, attack.__name__
        assert team.store() == before, attack.__name__
        restore(team, genuine)
    assert team.digest(repo) == answer
    assert team.fetch(repo).base_commit == head
    assert team.digest(repo) == team.clean(repo)


def restore(team: Team, genuine: dict[str, bytes]) -> None:
    transport = team.transport
    for key in {entry.key for entry in transport.list("v1/")} - genuine.keys():
        transport.delete(key)
    now = team.objects()
    for key, data in genuine.items():
        if now.get(key) != data:
            transport.put(key, data)


@pytest.mark.parametrize("attack", [flip, lose_object, lose_toc, unknown_key, garbage])
def test_the_next_ancestor_serves(team: Team, attack: Callable[[Attacker], None]):
    """Damage costs time, not the index: what was refused is told."""
    team.publish()
    old = team.origin.git("rev-parse", "HEAD")
    head = team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.publish()
    attack(Attacker(team, head))
    repo = team.clone()
    team.trust(repo)
    done = team.fetch(repo)
    assert (done.base_commit, done.distance) == (old, 1)
    assert len(done.passed_over) == 1
    assert team.digest(repo) == team.clean(repo)


def test_a_newer_format_is_named_as_such(team: Team):
    """ST-6: exit 8, not "malformed"."""
    head = team.publish().commit
    attacker = Attacker(team, head)
    attacker.sign(replace(attacker.claim, format=2), attacker.ci())
    repo = team.clone()
    team.trust(repo)
    with pytest.raises(GitindexError) as refused:
        team.fetch(repo)
    assert refused.value.exit_code == 8


def test_a_name_taken_by_other_bytes_is_not_replaced(team: Team):
    """A publisher that reuses a local segment's name for other content is refused before anything is written."""
    team.publish()
    repo = team.clone()
    team.trust(repo)
    team.fetch(repo)
    head = team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.publish()
    repo.git("pull", "-q")
    attacker = Attacker(team, head)
    victim = next(one for one in attacker.table.entries if one.path.endswith("segment_file_index.jsonl"))
    evil = b'{"path_key": "evil"}\n'
    packed, _ = stored_objects.pack_bytes(evil)
    manifest = next(one for one in attacker.table.entries if one.path == portable.NAME)
    text = unpacked(attacker.get(team.names.object_key(manifest.packed.sha256))).decode()
    data = json.loads(text)
    for segment in data["segments"]:
        for item in segment["artifacts"]:
            if item["path"] == victim.path:
                item.update(size_bytes=packed.raw_size, sha256=packed.raw_sha256)
    changed = portable.encode(portable.decode(json.dumps(data).encode()))
    entries = [one for one in attacker.table.entries if one not in (victim, manifest)]
    entries += [TocEntry(victim.path, packed), TocEntry(portable.NAME, stored_objects.pack_bytes(changed)[0])]
    attacker.republish(toc.make(entries), {"a": evil, "b": changed})
    attacker.transport.delete(attacker.manifests[repo.git("rev-parse", "HEAD~1")])
    before = team.store()
    with pytest.raises(IntegrityError, match="name of something else"):
        team.fetch(repo)
    after = team.store()
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert {Path(name).name for name in changed} == {"index_state.json"}  # which says that it failed


def test_a_revoked_key_stays_revoked(team: Team):
    team.publish()
    repo = team.clone()
    team.trust(repo)
    trusted_keys.revoke(repo.root, team.mate, str(team.where / "key.pub"))
    with pytest.raises(Untrusted, match="no key is trusted"):
        team.fetch(repo)
