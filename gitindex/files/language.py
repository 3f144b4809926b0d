"""Which language a file is written in, from its name or its shebang. Pure and deterministic.

A name here makes a file "supported" (EL-1); only some languages also have a grammar in `extract`.
"""

from __future__ import annotations

import re

_SUFFIXES = """
python: py pyi pyw pyx pxd
javascript: js mjs cjs jsx
typescript: ts mts cts
tsx: tsx
go: go
java: java
rust: rs
c: c h
cpp: cc cpp cxx c++ hh hpp hxx h++ ipp tpp inl cu cuh
csharp: cs csx
ruby: rb rake gemspec ru podspec
php: php phtml php5
kotlin: kt kts
swift: swift
scala: scala sc sbt
lua: lua
bash: sh bash zsh ksh bats
markdown: md markdown mdown mkd
toml: toml
yaml: yaml yml
json: json jsonc json5 geojson webmanifest ipynb
mdx: mdx
rst: rst rest
asciidoc: adoc asciidoc
org: org
text: txt text
tex: tex sty cls bib
html: html htm xhtml
css: css
scss: scss sass
less: less
xml: xml xsd xsl xslt svg plist csproj fsproj vbproj props targets
vue: vue
svelte: svelte
astro: astro
sql: sql ddl dml
graphql: graphql gql
protobuf: proto
thrift: thrift
hcl: tf tfvars hcl
nix: nix
dart: dart
elixir: ex exs
erlang: erl hrl
haskell: hs lhs
ocaml: ml mli
fsharp: fs fsi fsx
clojure: clj cljs cljc edn
lisp: lisp el cl scm rkt
r: r rmd
julia: jl
perl: pl pm
objc: m mm
groovy: groovy gradle
visualbasic: vb
zig: zig
nim: nim
crystal: cr
d: d
fortran: f f90 f95 f03 f08
pascal: pas pp dpr
ada: adb ads
assembly: s asm
verilog: v sv svh
vhdl: vhd vhdl
solidity: sol
fish: fish
powershell: ps1 psm1 psd1
batch: bat cmd
awk: awk
vim: vim
tcl: tcl
cmake: cmake
make: mk mak
bazel: bzl bazel star
meson: meson
ini: ini cfg conf properties editorconfig
env: env
diff: diff patch
csv: csv tsv
jinja: j2 jinja jinja2 tmpl tpl
gettext: po pot
handlebars: hbs handlebars mustache
pug: pug
erb: erb
log: log
"""

_NAMES = """
dockerfile: dockerfile containerfile
make: makefile gnumakefile
cmake: cmakelists.txt
ruby: rakefile gemfile guardfile vagrantfile podfile fastfile brewfile
python: sconstruct sconscript wscript
bazel: build workspace
groovy: jenkinsfile
just: justfile
text: license licence copying notice authors contributors changelog changes readme install todo news
text: thanks maintainers codeowners version
ini: .gitconfig .editorconfig .npmrc .pypirc .flake8 .pylintrc .coveragerc
gitignore: .gitignore .gitindexignore .dockerignore .npmignore .eslintignore .prettierignore
gitconfig: .gitattributes .gitmodules .mailmap
bash: .bashrc .bash_profile .profile .zshrc .envrc
json: .babelrc .eslintrc .prettierrc .jshintrc
yaml: .clang-format .clang-tidy
toml: pipfile cargo.lock poetry.lock uv.lock
gomod: go.mod go.sum go.work
meson: meson.build meson_options.txt
"""

_INTERPRETERS = {
    "python": "python",
    "pypy": "python",
    "node": "javascript",
    "nodejs": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "ts-node": "typescript",
    "ruby": "ruby",
    "php": "php",
    "lua": "lua",
    "luajit": "lua",
    "bash": "bash",
    "sh": "bash",
    "dash": "bash",
    "ksh": "bash",
    "zsh": "bash",
    "perl": "perl",
    "awk": "awk",
    "gawk": "awk",
    "fish": "fish",
    "tclsh": "tcl",
    "Rscript": "r",
    "julia": "julia",
    "elixir": "elixir",
    "escript": "erlang",
    "groovy": "groovy",
    "kotlin": "kotlin",
    "scala": "scala",
    "swift": "swift",
    "make": "make",
    "pwsh": "powershell",
}

_SHEBANG = re.compile(rb"#![ \t]*(?:\S*/)?env(?:[ \t]+-\S+|[ \t]+\w+=\S*)*[ \t]+(\S+)|#![ \t]*(\S+)")
_VERSION = re.compile(r"[0-9.]+$")


def _parse_table(text: str) -> dict[str, str]:
    rows = (line.split(":", 1) for line in text.strip().splitlines())
    return {key: language for language, keys in rows for key in keys.split()}


_BY_SUFFIX = _parse_table(_SUFFIXES)
_BY_NAME = _parse_table(_NAMES)


def language_of(path_key: str, head: bytes = b"") -> str:
    """The language's name, or "" when neither the name nor the shebang in `head` (≤ 256 bytes) tells."""
    name = path_key.rsplit("/", 1)[-1].lower()
    language = _BY_NAME.get(name) or _find_by_suffix(name)
    if language:
        return language
    if name.startswith(("dockerfile.", "containerfile.")):
        return "dockerfile"
    return _find_by_shebang(head[:256])


def _find_by_suffix(name: str) -> str:
    stem, dot, suffix = name.rpartition(".")
    if not dot or (not stem and suffix != "env"):
        return ""
    return _BY_SUFFIX.get(suffix, "")


def _find_by_shebang(head: bytes) -> str:
    match = _SHEBANG.match(head.removeprefix(b"\xef\xbb\xbf"))
    if match is None:
        return ""
    program = (match[1] or match[2]).rsplit(b"/", 1)[-1].decode("ascii", "replace")
    return _INTERPRETERS.get(program) or _INTERPRETERS.get(_VERSION.sub("", program), "")
