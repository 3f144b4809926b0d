"""Parts of a refresh job that need no store: heartbeats, and the names by which contexts are selected."""

from __future__ import annotations

from gitindex.semantic.contexts import Context
from gitindex.semantic.refresher import _project_name, _throttle_heartbeat, select_contexts


def test_a_heartbeat_is_written_at_most_every_two_seconds():
    times = iter([0.0, 1.9, 2.0, 2.0, 3.9, 4.0, 4.0])
    beats: list[bool] = [True, False]
    check_alive = _throttle_heartbeat(lambda: beats.pop(0), lambda: next(times))
    assert check_alive()  # 1.9: not asked
    assert len(beats) == 2
    assert check_alive()  # 2.0: asked
    assert len(beats) == 1
    assert check_alive()  # 3.9
    assert len(beats) == 1
    assert not check_alive()  # 4.0
    assert beats == []


def test_contexts_are_selected_by_id_language_or_root():
    top = Context("ctx_python_root_1", "python", "", "hash", (), ())
    web = Context("ctx_typescript_web_2", "typescript", "web", "hash", (), ())
    names = {
        "ctx_python_root_1": [top],
        "typescript": [web],
        "web": [web],
        ".": [top],
        "": [],
    }
    assert {name: select_contexts([top, web], name) for name in names} == names


def test_projects_of_a_repository_have_different_names():
    assert [_project_name(root) for root in ("", "a b", "a")] == ["project", "project/a_b", "project/a"]
