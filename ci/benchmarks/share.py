"""Sharing: what a fetch costs against building with exact facts, at 0 and 30 ms of latency, in time and in bytes.

A real S3 server (rclone) on loopback; a small TCP relay counts the bytes and delays them.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks import corpus
from benchmarks.measure import Row, child, environment, gitindex, show, summary
from benchmarks.recording import Recording, recorded

BUCKET = "bench"
_KEYS = {
    "AWS_ACCESS_KEY_ID": "benchaccess",
    "AWS_SECRET_ACCESS_KEY": "benchsecret",
    "AWS_REGION": "us-east-1",
}


def run(cache: Path, quick: bool) -> list[Row]:
    root = corpus.repository(corpus.DJANGO, cache)
    recording = recorded(root, cache)
    work = cache / "share"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with _server(work / "bucket") as port, Relay(port) as relay:
        team = _Team(root, work, relay, recording)
        plain, exact = team.local()
        built, pushed = team.publish()
        rows = [_push_again(team, pushed)]
        for delay in (0, 30):
            relay.delay = delay / 2000
            rows += team.fetched(delay, plain, exact, runs=1 if quick else 3)
        relay.delay = 0.0
        rows.append(team.moved(10, before=0 if quick else 15))
        note = f"from git objects, {recording}"
        rows.append(
            Row("build for publishing", show(built + recording.seconds), show(exact), None, None, note)
        )
    return rows


def _stand_in(recording: Recording, folder: Path) -> Path:
    """A program of the indexer's name that answers with the recording."""
    folder.mkdir()
    program = folder / recording.tool
    program.write_text(
        f"#!{sys.executable}\n"
        "import shutil, sys\n"
        "if '--output' in sys.argv:\n"
        f"    shutil.copyfile({str(recording.path)!r}, sys.argv[sys.argv.index('--output') + 1])\n"
        "else:\n"
        "    print('0.6.6')\n"
    )
    program.chmod(0o755)
    return folder


class _Team:
    """One clone of the corpus, a publisher and readers with homes of their own."""

    def __init__(self, root: Path, work: Path, relay: Relay, recording: Recording) -> None:
        self.root, self.work, self.relay, self.recording = work / "origin", work, relay, recording
        subprocess.run(["git", "clone", "-q", str(root), str(self.root)], check=True)
        corpus.git(self.root, "branch", "-M", "main")
        corpus.git(self.root, "remote", "remove", "origin")
        self._tools = _stand_in(recording, work / "tools")
        self._turn = 0
        child(gitindex("keys", "new", str(work / "key")), work, self.env("ci"))

    def env(self, name: str) -> dict[str, str]:
        remote = {"GITINDEX_REMOTE": f"s3://{BUCKET}/team", "AWS_ENDPOINT_URL_S3": self.relay.endpoint}
        found = {**environment(self.work / name), **_KEYS, **remote}
        found["PATH"] = f"{self._tools}{os.pathsep}{found['PATH']}"
        return {**found, "GITINDEX_SIGNING_KEY_FILE": str(self.work / "key")} if name == "ci" else found

    def local(self) -> tuple[float, float]:
        """What a teammate without a remote does: a full build of the same commit, without and with exact facts."""
        plain = child(gitindex("sync", "--json"), self.root, self.env("local")).wall
        exact = child(gitindex("refresh", "--wait", "--json"), self.root, self.env("local")).wall
        return plain, plain + exact + self.recording.seconds

    def publish(self, *options: str) -> tuple[float, dict[str, Any]]:
        built = child(gitindex("build", "--json", *options), self.root, self.env("ci"))
        return built.wall, json.loads(child(gitindex("push", "--json"), self.root, self.env("ci")).out)

    def mate(self) -> dict[str, str]:
        """A teammate who has nothing yet but the key."""
        self._turn += 1
        env = self.env(f"mate{self._turn}")
        child(gitindex("trust", "add", str(self.work / "key.pub")), self.root, env)
        return env

    def fetched(self, delay: int, plain: float, exact: float, runs: int) -> list[Row]:
        samples, wire = [], []
        for _ in range(runs):
            env = self.mate()
            before = self.relay.received
            done = child(gitindex("fetch", "--json"), self.root, env)
            report = json.loads(done.out)
            samples.append(done.wall)
            wire.append((self.relay.received - before) / report["bytes"]["downloaded"])
        name = f"fetch, verify and catch up at {delay} ms"
        timing = summary(samples)
        against = f"full build with SCIP {show(exact)}"
        without = f"full build without SCIP {show(plain)}"
        return [
            Row(name, str(timing), against, timing.median / exact, 0.1, str(self.recording)),
            Row(name, str(timing), without, timing.median / plain, None),
            Row(f"bytes on the wire at {delay} ms", f"{max(wire):.3f} ×", "objects needed", max(wire), 1.1),
        ]

    def moved(self, commits: int, before: int) -> Row:
        """A reader that follows some commits downloads a small part of the snapshot, compactions included."""
        self._advance(before)
        env = self.mate()
        child(gitindex("fetch", "--json"), self.root, env)
        pushed, compacted = self._advance(commits)
        whole = pushed["bytes"]["uploaded"] + pushed["bytes"]["reused"]
        report = json.loads(child(gitindex("fetch", "--json"), self.root, env).out)
        moved = report["bytes"]["downloaded"]
        note = f"{compacted} compactions of builds on the way"
        return Row(
            f"bytes to move {commits} commits", f"{moved:,}", f"snapshot {whole:,}", moved / whole, 0.15, note
        )

    def _advance(self, commits: int) -> tuple[dict[str, Any], int]:
        """Change a file, commit, build and push, so many times; the last push, and how often segments got fewer."""
        files = [name for name in corpus.git(self.root, "ls-files").splitlines() if name.endswith(".py")]
        pushed: dict[str, Any] = {}
        segments, compacted = 0, 0
        for _ in range(commits):
            self._turn += 1
            path = self.root / files[self._turn * 7919 % len(files)]
            path.write_text(path.read_text() + f"\n\ndef moved_{self._turn}():\n    return {self._turn}\n")
            corpus.git(self.root, "commit", "-qam", f"change {self._turn}")
            built = json.loads(
                child(gitindex("build", "--no-semantic", "--json"), self.root, self.env("ci")).out
            )
            pushed = json.loads(child(gitindex("push", "--json"), self.root, self.env("ci")).out)
            compacted += built["segments"] <= segments
            segments = built["segments"]
        return pushed, compacted


def _push_again(team: _Team, pushed: dict[str, Any]) -> Row:
    first = pushed["bytes"]["uploaded"]
    again = json.loads(child(gitindex("push", "--json"), team.root, team.env("ci")).out)["bytes"]["uploaded"]
    return Row("bytes to push an unchanged commit", f"{again:,}", f"first {first:,}", float(again), 0.0)


@contextmanager
def _server(where: Path) -> Iterator[int]:
    (where / BUCKET).mkdir(parents=True)
    program = Path(sys.executable).parent / "rclone"
    keys = f"{_KEYS['AWS_ACCESS_KEY_ID']},{_KEYS['AWS_SECRET_ACCESS_KEY']}"
    command = [
        str(program),
        "serve",
        "s3",
        str(where),
        "--addr",
        "127.0.0.1:0",
        "--auth-key",
        keys,
        "--config",
        os.devnull,
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                threading.Thread(target=process.stderr.read, daemon=True).start()
                yield int(found[1])
                break
    finally:
        process.terminate()
        process.wait(10)


class Relay:
    """A TCP relay: counts what clients receive, and holds every piece back for `delay` seconds each way."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.delay = 0.0
        self.received = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Relay:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._pump(client, server, count=False)
                self._pump(server, client, count=True)

    def _pump(self, source: socket.socket, target: socket.socket, *, count: bool) -> None:
        pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def read() -> None:
            data = b"-"
            while data:
                try:
                    data = source.recv(1 << 16)
                except OSError:
                    data = b""
                if count:
                    with self._lock:
                        self.received += len(data)
                pieces.put((time.monotonic() + self.delay, data))

        def write() -> None:
            while True:
                due, data = pieces.get()
                if (early := due - time.monotonic()) > 0:
                    time.sleep(early)
                try:
                    if not data:
                        target.shutdown(socket.SHUT_WR)
                        return
                    target.sendall(data)
                except OSError:
                    return

        for work in (read, write):
            threading.Thread(target=work, daemon=True).start()
