"""Finds the projects of a repository, per language, and the project that owns each file (SE-1). Pure.

A context is (language, root, config hash). Roots are the directories of tracked project files. A root inside another
root of the same language is a context of its own and owns the files below it: the deepest root wins. A compilation
database of C or C++ is seldom tracked, so CMake and Meson files make a root too. Nothing is executed, and nothing but
the given paths is read.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

ReadFile = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class Family:
    """How projects of one language are recognized. `roots` and `config` are patterns of file names."""

    language: str
    suffixes: tuple[str, ...]
    roots: tuple[str, ...]  # project files: their directory is a root
    config: tuple[str, ...] = ()  # further files that the config hash covers
    fallback: bool = False  # files below no root form one context at the repository root
    workspace: str = ""  # pattern: a project file with such content owns the roots below it too


FAMILIES = (
    Family(
        "python",
        (".py", ".pyi"),
        (r"pyproject\.toml", r"setup\.py", r"setup\.cfg", r"Pipfile"),
        (r"requirements.*\.txt", r"pyrightconfig\.json", r"poetry\.lock", r"uv\.lock", r"Pipfile\.lock"),
        fallback=True,
    ),
    Family(
        "typescript",
        (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"),
        (r"tsconfig\.json", r"jsconfig\.json", r"package\.json"),
        (
            r"tsconfig\..+\.json",
            r"package-lock\.json",
            r"yarn\.lock",
            r"pnpm-lock\.yaml",
            r"pnpm-workspace\.yaml",
        ),
        fallback=True,
    ),
    Family("go", (".go",), (r"go\.mod",), (r"go\.sum", r"go\.work")),
    Family(
        "java",
        (".java", ".kt"),
        (r"pom\.xml", r"build\.gradle(\.kts)?", r"settings\.gradle(\.kts)?"),
        (r"gradle\.properties", r"libs\.versions\.toml", r"gradle-wrapper\.properties"),
        workspace=r"<module>|^\s*include",
    ),
    Family(
        "rust",
        (".rs",),
        (r"Cargo\.toml",),
        (r"Cargo\.lock", r"rust-toolchain(\.toml)?", r"build\.rs"),
        workspace=r"(?m)^\s*\[workspace\]",
    ),
    Family(
        "cpp",
        (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".ipp", ".inl", ".m", ".mm"),
        (r"compile_commands\.json", r"meson\.build", r"CMakeLists\.txt"),
        (r"compile_flags\.txt", r"CMakePresets\.json", r".+\.cmake"),
        workspace=r"(?i)\b(?:project|add_subdirectory|subdir)\s*\(",
    ),
    Family(
        "csharp",
        (".cs",),
        (r".+\.slnx?", r".+\.csproj"),
        (r"Directory\.(Build|Packages)\.(props|targets)", r"global\.json", r"packages\.lock\.json"),
        workspace=r"Microsoft Visual Studio Solution|<Solution",
    ),
)


@dataclass(frozen=True, slots=True)
class Context:
    id: str  # ctx_<language>_<root slug>_<first 8 of the config hash>
    language: str
    root: str  # path key of a directory, "" for the repository root
    config_hash: str
    project_files: tuple[str, ...]  # the files that the config hash covers, sorted
    files: tuple[str, ...]  # the source files that it owns, sorted

    @property
    def key(self) -> tuple[str, str]:
        """Language and root: they stay the same when the configuration changes."""
        return self.language, self.root


def discover(paths: Iterable[str], read: ReadFile, *, families: Iterable[Family] = FAMILIES) -> list[Context]:
    """Contexts of a set of tracked path keys, by family and root, without those that own no file."""
    tracked = sorted(set(paths))
    return [context for family in families for context in _discover_family(family, tracked, read)]


def map_owners(contexts: Iterable[Context]) -> dict[tuple[str, str], str]:
    """(language, path) → context id: each file has at most one per language."""
    return {(context.language, path): context.id for context in contexts for path in context.files}


def _discover_family(family: Family, tracked: list[str], read: ReadFile) -> list[Context]:
    sources = [path for path in tracked if path.endswith(family.suffixes)]
    if not sources:
        return []
    project_files = _match_file_names(family.roots, tracked)
    roots = _top_roots(family, project_files, read)
    if family.fallback:
        roots.add("")
    files_by_root = _assign_to_roots(sources, roots)
    config_files = project_files + _match_file_names(family.config, tracked)
    return [
        _build_context(
            family, root, files=files_by_root[root], config_files=config_files, roots=roots, read=read
        )
        for root in sorted(files_by_root)
    ]


def _match_file_names(patterns: tuple[str, ...], tracked: list[str]) -> list[str]:
    if not patterns:
        return []
    combined_pattern = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    return [path for path in tracked if combined_pattern.fullmatch(posixpath.basename(path))]


def _top_roots(family: Family, project_files: list[str], read: ReadFile) -> set[str]:
    """Directories of project files, without those that a workspace above them covers."""
    roots = {posixpath.dirname(path) for path in project_files}
    if not family.workspace:
        return roots
    workspace_pattern = re.compile(family.workspace)
    workspaces = {
        posixpath.dirname(path)
        for path in project_files
        if workspace_pattern.search(read(path).decode("utf-8", "replace"))
    }
    return {
        root
        for root in roots
        if not any(_is_below(root, workspace) for workspace in workspaces if workspace != root)
    }


def _assign_to_roots(sources: list[str], roots: set[str]) -> dict[str, list[str]]:
    """Root → the files whose deepest root it is; files below no root are left out."""
    files_by_root: dict[str, list[str]] = {}
    for path in sources:
        directory = posixpath.dirname(path)
        while directory not in roots and directory:
            directory = posixpath.dirname(directory)
        if directory in roots:
            files_by_root.setdefault(directory, []).append(path)
    return files_by_root


def _build_context(
    family: Family, root: str, *, files: list[str], config_files: list[str], roots: set[str], read: ReadFile
) -> Context:
    config_by_root: Mapping[str, list[str]] = _assign_to_roots(config_files, roots)
    # Settings apply to the roots below them (workspaces, shared lock files), not to those above.
    relevant_roots = (*_list_ancestors(root), root)
    project_files = sorted({path for other in relevant_roots for path in config_by_root.get(other, ())})
    digest = hashlib.sha256()
    for path in project_files:
        digest.update(path.encode() + b"\0" + hashlib.sha256(read(path)).digest())
    config_hash = digest.hexdigest()
    slug = re.sub(r"[^a-z0-9]+", "-", root.lower()).strip("-") or "root"
    # Two roots may have the same slug (a-b and a/b): the hash covers the root itself too.
    short_hash = hashlib.sha256(f"{root}\0{config_hash}".encode()).hexdigest()[:8]
    context_id = f"ctx_{family.language}_{slug[:40]}_{short_hash}"
    return Context(
        id=context_id,
        language=family.language,
        root=root,
        config_hash=config_hash,
        project_files=tuple(project_files),
        files=tuple(sorted(files)),
    )


def _list_ancestors(root: str) -> list[str]:
    """Directories strictly above `root`, the repository root included."""
    ancestors = []
    while root:
        root = posixpath.dirname(root)
        ancestors.append(root)
    return ancestors


def _is_below(path: str, root: str) -> bool:
    return root == "" or path.startswith(root + "/")
