"""Where a process begins. Loading makes many objects and no garbage, so the collector rests meanwhile."""

from __future__ import annotations

import gc


def main() -> None:
    gc.disable()
    from gitindex.cli.main import main as run  # late: what it loads is what the collector would walk

    gc.freeze()
    gc.enable()
    run()
