"""The command line and environment of every Python process that we start (CF-5).

A repository may hold a `gitindex/`, a `json.py` or a `multiprocessing/` of its own. `-P` keeps the current directory
off the module path, the working directory is `/`, and module path entries that depend on a directory are dropped.

The process that a person starts inside a repository calls `protect` first. This module imports only builtins and what
Python itself has loaded: anything else could be a module of the repository.
"""

import os
import sys
from _collections_abc import Mapping

DIRECTORY = "/"  # the working directory of every child; its arguments are absolute paths
_SAFE_PATH = "PYTHONSAFEPATH"
_INSTALL_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_original_values: dict[
    str, str | None
] = {}  # environment variables that `protect` changed, with their original values


def command(module: str, *arguments: str) -> list[str]:
    """Run `module` of this installation with this interpreter."""
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` for a child of ours: without relative module path entries, and safe for its own children too."""
    child_variables = {**variables, _SAFE_PATH: "1"}
    path_entries = [
        entry for entry in child_variables.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)
    ]
    return {**child_variables, **({"PYTHONPATH": os.pathsep.join(path_entries)} if path_entries else {})}


def protect() -> None:
    """Remove the current directory from the module path, here and in processes that `multiprocessing` starts.

    Those run `python -c …`, which searches the current directory first; only the variable prevents that.
    """
    path_entries = os.environ["PYTHONPATH"].split(os.pathsep) if "PYTHONPATH" in os.environ else []
    relative_entries = {_absolute(entry) for entry in path_entries if not os.path.isabs(entry)}
    # Python puts the current directory first, or the directory of the script.
    script_dirs = {_absolute("")} if not sys.flags.safe_path else set()
    module_path = [entry for entry in sys.path[:1] if entry not in script_dirs] + sys.path[1:]
    sys.path[:] = [entry for entry in module_path if os.path.isabs(entry) and entry not in relative_entries]
    # `python -m gitindex` in a source checkout of gitindex needs its directory: last, after every package.
    if _INSTALL_DIR not in sys.path:
        sys.path.append(_INSTALL_DIR)
    safe_variables = child_environment(os.environ)
    for name in (_SAFE_PATH, "PYTHONPATH"):
        if os.environ.get(name) != safe_variables.get(name):
            _original_values[name] = os.environ.pop(name, None)
            os.environ.update({name: safe_variables[name]} if name in safe_variables else {})


def original_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` for a foreign program: as they were before `protect`."""
    return {name: value for name, value in {**variables, **_original_values}.items() if value is not None}


def _absolute(entry: str) -> str:
    try:
        return os.path.abspath(entry)
    except FileNotFoundError:  # the current directory is gone; so is whatever could be imported from it
        return entry
