"""The SCIP schema as a table of field numbers, turned into protobuf classes at run time.

No package on the registry binds the right schema, and a generated file would have to be kept in step with it; the
table lists only the fields we read. Three sets of classes come from it. `plain_messages` has the types of the
specification. `raw_messages` declares strings and packed integers as bytes, which have the same wire format; this
skips UTF-8 decoding and one container object per occurrence. `wire_messages` also leaves whole occurrences as bytes.
Unknown fields are ignored, so files of newer tools stay readable.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import api_implementation

from gitindex.errors import ExactFactsError

# field: (number, type); a trailing * means "repeated", a capitalized type is another message.
_TABLE: dict[str, dict[str, tuple[int, str]]] = {
    "Index": {
        "metadata": (1, "Metadata"),
        "documents": (2, "Document*"),
        "external_symbols": (3, "SymbolInformation*"),
    },
    "Metadata": {
        "version": (1, "int"),
        "tool_info": (2, "ToolInfo"),
        "project_root": (3, "string"),
        "text_document_encoding": (4, "int"),
    },
    "ToolInfo": {"name": (1, "string"), "version": (2, "string"), "arguments": (3, "string*")},
    "Document": {
        "relative_path": (1, "string"),
        "occurrences": (2, "Occurrence*"),
        "symbols": (3, "SymbolInformation*"),
        "language": (4, "string"),
        "text": (5, "string"),
        "position_encoding": (6, "int"),
    },
    "Occurrence": {
        "range": (1, "int*"),
        "symbol": (2, "string"),
        "symbol_roles": (3, "int"),
        "enclosing_range": (7, "int*"),
        "single_line_range": (8, "SingleLine"),
        "multi_line_range": (9, "MultiLine"),
        "single_line_enclosing_range": (10, "SingleLine"),
        "multi_line_enclosing_range": (11, "MultiLine"),
    },
    "SingleLine": {"line": (1, "int"), "start": (2, "int"), "end": (3, "int")},
    "MultiLine": {
        "start_line": (1, "int"),
        "start": (2, "int"),
        "end_line": (3, "int"),
        "end": (4, "int"),
    },
    "SymbolInformation": {
        "symbol": (1, "string"),
        "documentation": (3, "string*"),
        "relationships": (4, "Relationship*"),
        "kind": (5, "int"),
        "display_name": (6, "string"),
        "signature_documentation": (7, "Document"),
        "enclosing_symbol": (8, "string"),
    },
    "Relationship": {
        "symbol": (1, "string"),
        "is_reference": (2, "bool"),
        "is_implementation": (3, "bool"),
        "is_type_definition": (4, "bool"),
        "is_definition": (5, "bool"),
    },
}

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {"int": _FIELD.TYPE_INT32, "bool": _FIELD.TYPE_BOOL, "string": _FIELD.TYPE_STRING}
_LAZY_IN_RAW = {"single_line_range", "multi_line_range", "single_line_enclosing_range"}
_LAZY_IN_RAW |= {"multi_line_enclosing_range"}

DEFINITION, IMPORT, WRITE, READ, GENERATED, TEST, FORWARD = 1, 2, 4, 8, 16, 32, 64
UTF8, UTF16, UTF32 = 1, 2, 3


@cache
def plain_messages() -> SimpleNamespace:
    """Message classes with the types of the specification."""
    return _build("scip", raw=False)


@cache
def wire_messages() -> SimpleNamespace:
    """Like `raw_messages`, with each occurrence of a document left as the bytes of its message."""
    return _build("scipwire", raw=True, occurrences_as_bytes=True)


@cache
def raw_messages() -> SimpleNamespace:
    """The same wire format, strings, packed integers and typed ranges left as bytes."""
    return _build("scipraw", raw=True)


def _build(package: str, *, raw: bool, occurrences_as_bytes: bool = False) -> SimpleNamespace:
    # The pure Python runtime is ten times slower: an import would seem to hang.
    if api_implementation.Type() != "upb":
        raise ExactFactsError(
            "the installed protobuf package has no compiled runtime (upb)",
            hint="python -m pip install --force-reinstall --only-binary :all: protobuf",
        )
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for message, fields in _TABLE.items():
        descriptor = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            if name == "occurrences" and occurrences_as_bytes:
                kind = "string*"
            _add_field(descriptor, name, package=package, number=number, kind=kind, raw=raw)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return SimpleNamespace(**{name: _message_class(pool, f"{package}.{name}") for name in _TABLE})


def _add_field(
    message: descriptor_pb2.DescriptorProto, name: str, *, package: str, number: int, kind: str, raw: bool
) -> None:
    repeated = kind.endswith("*")
    kind = kind.rstrip("*")
    field = message.field.add(name=name, number=number)
    if raw and (kind == "string" or (kind == "int" and repeated) or name in _LAZY_IN_RAW):
        field.type = _FIELD.TYPE_BYTES
        repeated = repeated and kind == "string"
    elif kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _FIELD.TYPE_MESSAGE
        field.type_name = f".{package}.{kind}"
    field.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL


def _message_class(pool: descriptor_pool.DescriptorPool, name: str) -> Any:
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
