# shellcheck shell=sh disable=SC2154 # the two variables are the caller's
# Sourced in a subshell by every git hook: leaves a note, starts the detached worker. Never fails git.
# In: gitindex_event; gitindex_python (may be empty: `gitindex` on PATH); cwd is the top of the work tree.
# No process runs in the foreground: everything before the last line is a shell builtin (HK-2).

# The dry run of `gitindex hooks status`: say which event reached us, do nothing else.
if [ -n "${GITINDEX_PROBE-}" ]; then
    printf '%s\n' "$gitindex_event" >>"$GITINDEX_PROBE"
    exit 0
fi
case "${GITINDEX_SKIP-}" in '' | 0) ;; *) exit 0 ;; esac

# GIT_DIR is set in submodules and by commands in linked worktrees, but not by `worktree add`: there, and wherever
# it is unset, `.git` is the directory or a file that names it (a name may hold newlines).
gitindex_git=${GIT_DIR:-.git}
if [ -f "$gitindex_git" ]; then
    gitindex_file=$gitindex_git
    gitindex_git=
    while IFS= read -r gitindex_line || [ -n "$gitindex_line" ]; do
        gitindex_git=${gitindex_git:+"$gitindex_git
"}$gitindex_line
    done <"$gitindex_file"
    gitindex_git=${gitindex_git#gitdir: }
fi
case "$gitindex_git" in /*) ;; *) gitindex_git=$PWD/$gitindex_git ;; esac
[ -d "$gitindex_git" ] || exit 0
[ -d "$gitindex_git/gitindex" ] || mkdir "$gitindex_git/gitindex" || [ -d "$gitindex_git/gitindex" ] || exit 0

# pre-commit hides unstaged changes while it runs hooks, so its note asks for committed content only.
gitindex_note=pending
[ -z "${PRE_COMMIT-}" ] || gitindex_note=pending.commit
: >"$gitindex_git/gitindex/$gitindex_note" || exit 0

# A rebase fires post-commit once per commit; the worker that its post-checkout started waits for the end.
if [ "$gitindex_event" = post-commit ]; then
    [ ! -d "$gitindex_git/rebase-merge" ] && [ ! -d "$gitindex_git/rebase-apply" ] || exit 0
fi

if [ -x "${gitindex_python:-}" ]; then
    # -P: a module of the indexed repository must never be imported.
    set -- "$gitindex_python" -P -m gitindex.hooks
elif command -v gitindex >/dev/null 2>&1; then
    set -- gitindex hooks
else
    exit 0
fi
set -- "$@" worker --path "$PWD" --git-dir "$gitindex_git"
if command -v ionice >/dev/null 2>&1; then set -- ionice -t -c 3 "$@"; fi
if command -v nice >/dev/null 2>&1; then set -- nice -n 10 "$@"; fi
if command -v setsid >/dev/null 2>&1; then set -- setsid "$@"; fi

# What `git rev-parse --local-env-vars` lists, and what a hook inherits besides: it speaks of this command only.
unset GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_OBJECT_DIRECTORY \
    GIT_DIR GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE GIT_NO_REPLACE_OBJECTS \
    GIT_REPLACE_REF_BASE GIT_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR GIT_INTERNAL_SUPER_PREFIX \
    GIT_QUARANTINE_PATH GIT_NAMESPACE GIT_REFLOG_ACTION GIT_EDITOR GIT_SEQUENCE_EDITOR \
    GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_LITERAL_PATHSPECS
cd / || exit 0
# Nobody who waits for an end of file, or for a lock on a descriptor, waits for the worker.
"$@" </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
