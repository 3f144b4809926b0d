"""Small executables that stand in for indexers: they record how they were called and do as a plan says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

_SCRIPT = """#!{python}
import json, os, re, subprocess, sys, time
here = os.path.dirname(os.path.abspath(__file__))
name = os.path.basename(__file__)
plan = json.load(open(os.path.join(here, name + ".plan")))
if "--version" in sys.argv:
    print(name, plan.get("version", "1.2.3"))
    sys.exit(0)
calls = os.path.join(here, name + ".calls")
log = json.load(open(calls)) if os.path.exists(calls) else []
log.append({{"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}})
json.dump(log, open(calls, "w"))
step = plan["steps"][min(len(log), len(plan["steps"])) - 1]
print(step.get("print", ""))
sys.stdout.flush()
if step.get("output") is not None:
    target = next(re.sub(r"^--index-output-path=", "", a) for a in sys.argv if a.endswith("index.scip"))
    data = open(step["output"], "rb").read()
    open(target, "wb").write(data[: step.get("cut", len(data))])
if step.get("flood"):
    target = next(re.sub(r"^--index-output-path=", "", a) for a in sys.argv if a.endswith("index.scip"))
    with open(target, "wb") as file:
        for _ in range(step["flood"]):
            file.write(b"x" * 1024)
            file.flush()
            time.sleep(0.001)
if step.get("eat"):
    hoard = [bytearray(os.urandom(1)) * (1 << 20) for _ in range(step["eat"])]
if step.get("daemon"):
    child = subprocess.Popen(["sleep", "1000"])
    open(os.path.join(here, "daemon.pid"), "w").write(str(child.pid))
if step.get("hang"):
    time.sleep(1000)
if step.get("signal"):
    os.kill(os.getpid(), step["signal"])
sys.exit(step.get("exit", 0))
"""


class Recorder:
    """One fake tool in a directory of its own that serves as PATH."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory, self.name = directory, name
        directory.mkdir(parents=True, exist_ok=True)
        program = directory / name
        program.write_text(_SCRIPT.format(python=sys.executable))
        program.chmod(0o755)

    def plan(self, *steps: dict, scip: bytes | None = None) -> None:
        if scip is not None:
            (self.directory / "prepared.scip").write_bytes(scip)
            steps = tuple({"output": str(self.directory / "prepared.scip"), **step} for step in steps)
        (self.directory / f"{self.name}.plan").write_text(json.dumps({"steps": list(steps)}))

    @property
    def calls(self) -> list[dict]:
        path = self.directory / f"{self.name}.calls"
        return json.loads(path.read_text()) if path.exists() else []

    @property
    def path(self) -> str:
        return f"{self.directory}{os.pathsep}{os.environ['PATH']}"
