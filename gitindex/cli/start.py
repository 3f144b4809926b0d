"""Where a process begins. Loading makes many objects and no garbage, so the collector rests meanwhile.

What is imported before `protect` has run could come from the repository that the command is about (CF-5).
"""

import gc

from gitindex import child


def main() -> None:
    child.protect()
    gc.disable()
    from gitindex.cli.main import main as run  # late: what it loads is what the collector would walk

    gc.freeze()
    gc.enable()
    run()
