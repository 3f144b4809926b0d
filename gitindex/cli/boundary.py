"""Turns exceptions into a message, a next step and an exit code. The only place that does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from gitindex.cli import output, summary
from gitindex.config import load_environment
from gitindex.errors import Gated, GitindexError, OutputFailed, StoreUnwritable
from gitindex.model.foreign import quote_argument
from gitindex.model.frozen import frozen

_SHOWN_BY_CLICK = frozenset({"--help", "-h", "--version"})


@frozen
class Invocation:
    """What was typed, as far as the report of a failure needs it."""

    name: str
    as_json: bool


def run_command(command: click.Command, arguments: Sequence[str]) -> int:
    """Run a command line; returns its exit code and never lets a traceback out."""
    name = next((word for word in arguments if not word.startswith("-")), "")
    invocation = Invocation(name, "--json" in arguments)
    code = 0
    try:
        code = _invoke(command, arguments, invocation)
        with translate_output_errors():
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()  # the reader went away (head, less)
    except OutputFailed as error:
        _discard_stdout()
        return _report_error(error, Invocation(name, as_json=False))
    return code


@contextmanager
def translate_output_errors() -> Iterator[None]:
    """Raise OutputFailed when stdout cannot be written; let BrokenPipeError through."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(
            f"cannot write the answer to stdout: {error.strerror}", hint="redirect stdout to another file"
        ) from error


def _invoke(command: click.Command, arguments: Sequence[str], invocation: Invocation) -> int:
    try:
        result = command.main(list(arguments), prog_name="gitindex", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _report_usage_error(error, invocation)
    except (OutputFailed, BrokenPipeError):
        raise
    except GitindexError as error:
        return _report_error(error, invocation)
    except PermissionError as error:
        return _report_error(_unwritable_error(error), invocation)
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("interrupted; the last good snapshot is untouched\n")
        return 130
    except OSError as error:
        if _SHOWN_BY_CLICK.isdisjoint(arguments):
            return _report_defect(error, invocation)
        with translate_output_errors():
            raise
    except Exception as error:  # noqa: BLE001 - the boundary: anything else is a defect and is reported as one
        return _report_defect(error, invocation)


def _discard_stdout() -> None:
    """Point stdout to /dev/null, so that Python does not fail at exit when it flushes the rest of the answer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_json(value: object) -> None:
    with translate_output_errors():
        output.write_json(value)


def _report_usage_error(error: click.ClickException, invocation: Invocation) -> int:
    summary.append_failure(invocation.name, error.format_message(), None)
    if invocation.as_json:
        _write_json(
            {"status": "error", "error": {"code": "usage", "message": error.format_message(), "hint": None}}
        )
    else:
        context = error.ctx if isinstance(error, click.UsageError) else None
        if context is not None:
            output.write_error_lines(
                f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n"
            )
        output.write_error(f"Error: {error.format_message()}")
    return 2


def _report_error(error: GitindexError, invocation: Invocation) -> int:
    summary.append_failure(invocation.name, error.message, error.hint)
    gate_answer = error.detail.get("envelope") if isinstance(error, Gated) else None
    if invocation.as_json:
        error_answer = {
            "status": "error",
            "error": {
                "code": error.code,
                "message": error.message,
                "hint": error.hint,
                **_json_values(error.detail),
            },
        }
        _write_json(gate_answer if isinstance(gate_answer, dict) else error_answer)
    else:
        output.write_error(f"gitindex: {error.message}")
        example = error.detail.get("example")
        if isinstance(example, str):
            output.write_error_lines(example)
        if error.hint:
            output.write_error(f"  next: {error.hint}")
    return error.exit_code


def _unwritable_error(error: PermissionError) -> GitindexError:
    """The path belongs to another user, often after a run with sudo: a usage problem, not a defect."""
    from pathlib import Path

    from gitindex.hooks import owner

    path = Path(os.fsdecode(error.filename or "."))
    return StoreUnwritable(
        f"permission denied: {path} belongs to {owner.owner_name(path)}",
        hint=f"ls -ld {quote_argument(str(path))}",
    )


def _json_values(detail: dict[str, object]) -> dict[str, object]:
    return {
        name: value for name, value in detail.items() if isinstance(value, str | int | float | list | dict)
    }


def _report_defect(error: BaseException, invocation: Invocation) -> int:
    message = f"{type(error).__name__}: {error}"
    summary.append_failure(invocation.name, f"unexpected {message}", None)
    if invocation.as_json:
        _write_json({"status": "error", "error": {"code": "defect", "message": message, "hint": None}})
    if load_environment().debug:
        import traceback

        traceback.print_exc()
    else:
        output.write_error(f"gitindex: unexpected {message}")
        output.write_error("  next: run again with GITINDEX_DEBUG=1 and report it")
    return 1
