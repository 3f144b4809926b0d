"""The entry point. Imports create many objects and no garbage, so the garbage collector is off while they run.

A module that is imported before `protect` has run could come from the repository that the command reads (CF-5).
"""

import gc

from gitindex import child


def main() -> None:
    child.protect()
    gc.disable()
    from gitindex.cli.main import main as run  # late: after `protect`, and without the collector

    gc.freeze()
    gc.enable()
    run()
