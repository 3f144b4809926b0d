"""How a Python process of ours is started: the one place that says so (CF-5).

A repository may hold a `gitindex/`, a `json.py` or a `multiprocessing/` of its own. `-P` keeps the current directory
off the module path, the working directory is `/`, and module path entries that depend on a directory are dropped.

The process that a person starts inside a repository calls `protect` first: nothing but builtins and what Python itself
has loaded may be imported here, or a repository's module of that name would run.
"""

import os
import sys
from _collections_abc import Mapping

DIRECTORY = "/"  # every child's working directory; what a child works on is named by an absolute path
_SAFE_PATH = "PYTHONSAFEPATH"
_INSTALL_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_original_values: dict[str, str | None] = {}  # what `protect` has changed in our environment, as it was


def command(module: str, *arguments: str) -> list[str]:
    """Run `module` of this installation with this interpreter."""
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` for a child of ours: its own children are as safe, and no module path entry is relative."""
    child_variables = {**variables, _SAFE_PATH: "1"}
    path_entries = [
        entry for entry in child_variables.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)
    ]
    return {**child_variables, **({"PYTHONPATH": os.pathsep.join(path_entries)} if path_entries else {})}


def protect() -> None:
    """Take the current directory off the module path, here and in whatever `multiprocessing` starts from here.

    It starts `python -c …`, which looks for modules in the current directory first; only the variable prevents that.
    """
    path_entries = os.environ["PYTHONPATH"].split(os.pathsep) if "PYTHONPATH" in os.environ else []
    relative_entries = {_absolute(place) for place in path_entries if not os.path.isabs(place)}
    script_dirs = (
        {_absolute("")} if not sys.flags.safe_path else set()
    )  # Python puts it there, or the script's directory
    module_path = [place for place in sys.path[:1] if place not in script_dirs] + sys.path[1:]
    sys.path[:] = [place for place in module_path if os.path.isabs(place) and place not in relative_entries]
    if (
        _INSTALL_DIR not in sys.path
    ):  # `python -m gitindex` in a source checkout of gitindex: last, after every package
        sys.path.append(_INSTALL_DIR)
    safe_variables = child_environment(os.environ)
    for name in (_SAFE_PATH, "PYTHONPATH"):
        if os.environ.get(name) != safe_variables.get(name):
            _original_values[name] = os.environ.pop(name, None)
            os.environ.update({name: safe_variables[name]} if name in safe_variables else {})


def original_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` for a program that is not ours: as they were before `protect`."""
    return {name: value for name, value in {**variables, **_original_values}.items() if value is not None}


def _absolute(entry: str) -> str:
    try:
        return os.path.abspath(entry)
    except FileNotFoundError:  # the current directory is gone; so is whatever could be imported from it
        return entry
