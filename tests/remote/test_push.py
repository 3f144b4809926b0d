"""Publishing: idempotent, self-healing, manifest last (RE-2)."""

from __future__ import annotations

import threading

import pytest

from gitindex.errors import IntegrityError, OutcomeUnknown, RemoteDenied, Untrusted
from gitindex.remote import fetch_plan, publisher, upload
from gitindex.remote.probe import ManifestSearch
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.transport import PutOutcome, get
from gitindex.remote.upload import PendingUpload, UploadOutcome
from gitindex.trust import envelope as envelopes
from gitindex.trust.verify import TrustPolicy, verify
from tests.remote.made import CI, FILES, NAMES, POLICY, artifacts, publish, receive, staged
from tests.remote.memory import MemoryTransport
from tests.trust.made import binding, signed, signing_key

MANIFEST = NAMES.manifest_key("f" * 64, binding().commit)
NEW = signing_key("new ci")


def test_second_push_sends_nothing(remote, tmp_path):
    _, first = publish(remote.transport, tmp_path)
    before = get(remote.transport, MANIFEST, max_bytes=65536)
    _, second = publish(remote.transport, tmp_path)
    assert first.objects[UploadOutcome.CREATED] == len(FILES) + 1
    assert second.sent_bytes == 0
    assert second.objects[UploadOutcome.REUSED] == len(FILES) + 1
    assert get(remote.transport, MANIFEST, max_bytes=65536) == before


def test_what_was_pushed_verifies_and_arrives(remote, tmp_path):
    claim, _ = publish(remote.transport, tmp_path)
    found = verify(get(remote.transport, MANIFEST, max_bytes=65536), POLICY, binding())
    assert found.claim == claim
    receive(remote.transport, found.claim, tmp_path)
    assert staged(tmp_path) == FILES


def test_concurrent_pushes_of_one_commit(remote, tmp_path):
    work = []
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        work.append(threading.Thread(target=publish, args=(remote.transport, tmp_path / str(number))))
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    found = verify(get(remote.transport, MANIFEST, max_bytes=65536), POLICY, binding())
    receive(remote.transport, found.claim, tmp_path)
    assert staged(tmp_path) == FILES


class Killed(RuntimeError):
    pass


class Dies(MemoryTransport):
    """A publisher that gets no further than so many writes."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.left = writes

    def put_if_absent(self, key, content):
        if self.left == 0:
            raise Killed
        self.left -= 1
        return super().put_if_absent(key, content)


@pytest.mark.parametrize("writes", range(len(FILES) + 2))
def test_killed_before_each_write_nothing_refers_to_it(tmp_path, writes):
    """The manifest is the last write: before it no reader finds anything, afterwards a push completes."""
    transport = Dies(writes)
    with pytest.raises(Killed):
        publish(transport, tmp_path)
    assert list(transport.list(NAMES.manifests_prefix)) == []
    transport.left = -1
    claim, _ = publish(transport, tmp_path)
    receive(transport, claim, tmp_path)
    assert staged(tmp_path) == FILES


def test_a_genuine_manifest_under_another_commit_is_refused(remote, tmp_path):
    """Cross-commit substitution: the server answers for B with what was signed for A."""
    publish(remote.transport, tmp_path)
    other = binding(commit="b" * 40, tree="e" * 40)
    genuine = get(remote.transport, MANIFEST, max_bytes=65536)
    remote.transport.put(NAMES.manifest_key("f" * 64, other.commit), genuine)
    found = next(ManifestSearch(remote.transport, NAMES, "f" * 64).find_manifests([other.commit]))
    with pytest.raises(Untrusted) as caught:
        verify(found.envelope, POLICY, other)
    assert caught.value.detail["binding"] == "commit"


def test_a_damaged_object_is_healed(remote, tmp_path):
    claim, _ = publish(remote.transport, tmp_path)
    victim = next(
        e.key for e in remote.transport.list(NAMES.objects_prefix) if not e.key.endswith(claim.toc.sha256)
    )
    remote.transport.put(victim, b"truncated")
    _, again = publish(remote.transport, tmp_path)
    assert again.objects[UploadOutcome.REPLACED] == 1
    receive(remote.transport, claim, tmp_path)
    assert staged(tmp_path) == FILES


def test_progress_and_duplicates(tmp_path):
    transport = MemoryTransport()
    seen = []
    one = PendingUpload("v1/r0/obj/aa/x", 3, b"abc")
    done = upload.upload(transport, [one, one], on_progress=seen.append)
    assert done.objects == {UploadOutcome.CREATED: 1, UploadOutcome.REUSED: 0, UploadOutcome.REPLACED: 0}
    assert seen == [(1, 1, 3, 3)]


def test_present(remote):
    remote.transport.put("v1/r0/obj/aa/x", b"abc")
    assert upload.find_existing(remote.transport, ["v1/r0/obj/aa/x", "v1/r0/obj/aa/y"]) == {
        "v1/r0/obj/aa/x": 3
    }


def test_upload_goes_on_where_head_is_refused():
    class Blind(MemoryTransport):
        def head(self, key):
            raise RemoteDenied("403")

    transport = Blind()
    upload.upload(transport, [PendingUpload("v1/r0/obj/aa/x", 3, b"abc")])
    assert get(transport, "v1/r0/obj/aa/x", max_bytes=3) == b"abc"


# -- the manifest ----------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [b"", b"junk", b"x" * 100_000, signed(signing_key("squatter"))])
def test_a_manifest_nobody_trusts_is_replaced(there):
    transport = MemoryTransport()
    transport.put(MANIFEST, there)
    assert publisher.publish_manifest(transport, NAMES, signed(CI), POLICY, binding()) is PutOutcome.CREATED
    verify(get(transport, MANIFEST, max_bytes=65536), POLICY, binding())


def test_an_equal_manifest_stays():
    transport = MemoryTransport()
    transport.put(MANIFEST, signed(CI, builder="another machine"))
    assert publisher.publish_manifest(transport, NAMES, signed(CI), POLICY, binding()) is PutOutcome.EXISTS


def test_resigning_after_a_leak():
    """Revoke, sign again with the new key: the push replaces what the revoked key signed."""
    transport = MemoryTransport()
    transport.put(MANIFEST, signed(CI))
    policy = TrustPolicy((CI.public, NEW.public), frozenset({CI.public.id}))
    assert publisher.publish_manifest(transport, NAMES, signed(NEW), policy, binding()) is PutOutcome.CREATED
    assert verify(get(transport, MANIFEST, max_bytes=65536), policy, binding()).signers == (NEW.public,)


def test_what_its_own_policy_refuses_is_never_published():
    transport = MemoryTransport()
    with pytest.raises(Untrusted):
        publisher.publish_manifest(transport, NAMES, signed(NEW), POLICY, binding())
    with pytest.raises(Untrusted):
        publisher.publish_manifest(transport, NAMES, signed(CI, tree="a" * 40), POLICY, binding())
    assert transport.objects == {}


@pytest.mark.parametrize("landed", [True, False])
def test_a_lost_answer_is_settled_by_reading_back(landed):
    class Loses(MemoryTransport):
        def put_if_absent(self, key, content):
            if landed:
                super().put_if_absent(key, content)
            raise OutcomeUnknown("lost")

    def attempt():
        return publisher.publish_manifest(Loses(), NAMES, signed(CI), POLICY, binding())

    if landed:
        assert attempt() is PutOutcome.CREATED
    else:
        with pytest.raises(OutcomeUnknown):
            attempt()


# -- plans -----------------------------------------------------------------------------------------


def test_push_plan_reuses_what_is_known_and_there(tmp_path):
    made = artifacts(tmp_path)
    known = {one.sha256: PackedArtifact(f"{n:064x}", 10, one.sha256, one.size) for n, one in enumerate(made)}
    keys = [NAMES.object_key(f"{n:064x}") for n in range(3)]
    plan = publisher.plan_push(made, known, {keys[0]: 10, keys[1]: 9}, NAMES)
    assert [entry.path for entry in plan.reuse] == [made[0].path]
    assert plan.pack == (made[1], made[2])


def test_a_file_that_is_not_what_the_manifest_says_is_not_published(tmp_path):
    made = artifacts(tmp_path / "snapshot")
    made[1].source.write_bytes(b"changed")
    with pytest.raises(IntegrityError, match="nothing was published"):
        publisher.pack_all(publisher.plan_push(made, {}, {}, NAMES), NAMES, tmp_path)


def test_fetch_plan_downloads_only_what_is_not_here(tmp_path):
    transport = MemoryTransport()
    files = {**FILES, "copy.json": FILES["manifest.json"], "twin.term": FILES["lexical/a.term"]}
    claim, _ = publish(transport, tmp_path, files)
    table = fetch_plan.read_toc(transport, NAMES, claim)
    raw = {entry.path: entry.packed.raw_sha256 for entry in table.entries}
    here = {raw["manifest.json"]: tmp_path / "mine"}
    plan = fetch_plan.plan_fetch(table, here, NAMES, tmp_path / "staging")
    assert sorted(reuse.entry.path for reuse in plan.reuse) == ["copy.json", "manifest.json"]
    assert len(plan.download) == 2
    assert sorted(len(one.destinations) for one in plan.download) == [1, 2]
    assert sum(one.packed.size for one in plan.download) + plan.reuse_bytes == claim.totals.size
    everything = {entry.packed.raw_sha256: tmp_path for entry in table.entries}
    assert fetch_plan.plan_fetch(table, everything, NAMES, tmp_path).download == ()


def test_rotation_travels_with_a_push():
    """RE-5: a push that names a successor replaces one that does not, though the content is the same."""
    transport = MemoryTransport()
    transport.put(MANIFEST, signed(CI))
    dual = signed(CI, NEW, successors=(NEW.public,))
    assert publisher.publish_manifest(transport, NAMES, dual, POLICY, binding()) is PutOutcome.CREATED
    found = verify(get(transport, MANIFEST, max_bytes=65536), POLICY, binding())
    assert found.successors == (NEW.public,)
    assert len(envelopes.decode(dual).signatures) == 2
