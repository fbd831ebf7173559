"""Read YAML into a model, and say where in the file anything wrong stands.

A message reads ``matrix.yaml:14:7: images[2].rocm: what is wrong (did you mean …?)``: file, line and column counted
from 1, as editors jump to.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from harness.errors import ConfigError

M = TypeVar("M", bound=BaseModel)
Location = tuple[int | str, ...]

MAX_BYTES = 1 << 20
# Aliases make a file of a few lines stand for any number of nodes; no honest matrix comes near these.
MAX_NODES = 100_000
MAX_DEPTH = 40
MAX_SHOWN = 10


def load(path: Path, model: type[M]) -> M:
    """Read ``path`` and validate it as ``model``.

    Raises ConfigError, with file, line and column, for a file that cannot be read, is not YAML, expands beyond all
    measure, or does not fit the model.
    """
    tree = _parse(path)
    try:
        return model.model_validate(_plain(tree, path))
    except ValidationError as error:
        details = _own(error.errors(include_url=False))
        lines = [_message(path, tree, detail, model) for detail in details[:MAX_SHOWN]]
        if len(details) > MAX_SHOWN:
            lines.append(f"… and {len(details) - MAX_SHOWN} more")
        raise ConfigError("\n".join(lines)) from None


def place(path: Path, location: Location) -> str:
    """Return ``file:line:column: name`` of a location in a file that was loaded before."""
    found, (line, column) = _locate(_parse(path), location, of_key=False)
    return f"{path}:{line + 1}:{column + 1}: {_dotted(found)}"


def _own(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Leave out "too short" where it only says that no item of a list was good: the items have their own errors."""
    places = [detail["loc"] for detail in details]
    return [
        detail
        for detail in details
        if detail["type"] != "too_short"
        or not any(len(place) > len(detail["loc"]) and place[: len(detail["loc"])] == detail["loc"] for place in places)
    ]


def _parse(path: Path) -> object:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path}: larger than {MAX_BYTES >> 20} MiB; this is no file of ours")
        return YAML(typ="rt").load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file. `--matrix FILE` after the command names another.") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except RecursionError:
        raise ConfigError(f"{path}: is nested deeper than {MAX_DEPTH} levels") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise ConfigError(f"{path}{where}: not valid YAML: {_first_line(error.problem or error.context)}") from None
    except YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {_first_line(str(error))}") from None


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


def _plain(tree: object, path: Path) -> object:
    """Turn ruamel's types into Python's, after making sure that the result is of a sane size."""
    if _size(tree, {}, 0, path) > MAX_NODES:
        raise ConfigError(f"{path}: its aliases expand to more than {MAX_NODES:,} values; write it without them")
    return _convert(tree)


def _size(node: object, known: dict[int, int], depth: int, path: Path) -> int:
    """Count the values ``node`` expands to, in time linear in the file (each shared node is counted once)."""
    if not isinstance(node, dict | list):
        return 1
    if depth > MAX_DEPTH:
        raise ConfigError(f"{path}: is nested deeper than {MAX_DEPTH} levels, or an alias contains itself")
    if id(node) not in known:
        children = node.values() if isinstance(node, dict) else node
        known[id(node)] = 1 + sum(_size(child, known, depth + 1, path) for child in children)
    return known[id(node)]


def _convert(node: object) -> object:
    if isinstance(node, dict):
        return {_convert(key): _convert(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_convert(value) for value in node]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _message(path: Path, tree: object, detail: ErrorDetails, model: type[BaseModel]) -> str:
    below = tuple(detail.get("ctx", {}).get("at", ()))
    location, (line, column) = _locate(tree, (*detail["loc"], *below), of_key=detail["type"] == "extra_forbidden")
    name = _dotted(location)
    what = _what(detail)
    guess = _guess(detail, _names_at(model, detail["loc"][:-1]))
    return f"{path}:{line + 1}:{column + 1}: {name + ': ' if name else ''}{what}{guess}"


def _locate(tree: object, loc: Location, *, of_key: bool) -> tuple[Location, tuple[int, int]]:
    """Follow an error's location as far as the file goes; steps that pydantic adds (union tags) are left out."""
    node: object = tree
    taken: list[int | str] = []
    position = (node.lc.line, node.lc.col) if isinstance(node, CommentedMap | CommentedSeq) else (0, 0)
    for index, step in enumerate(loc):
        last = index == len(loc) - 1
        if isinstance(node, CommentedMap) and step in node:
            own = step in node.lc.data if node.lc.data else False
            if own:
                position = node.lc.key(step) if (last and of_key) else node.lc.value(step)
            node = node[step]
        elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
            position = node.lc.item(step)
            node = node[step]
        elif not last or isinstance(node, CommentedMap | CommentedSeq) is False:
            continue
        taken.append(step)
    return tuple(taken), position


def _dotted(location: Location) -> str:
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _what(detail: ErrorDetails) -> str:
    given = detail["input"]
    shown = f" (got {given!r})" if isinstance(given, str | int | float | bool) else ""
    match detail["type"]:
        case "extra_forbidden":
            return "unknown key"
        case "missing":
            return "is missing"
        case "string_type" if isinstance(given, int | float):
            return f"must be text: put it in quotes, '{given}'"
        case "tuple_type" | "list_type":
            return f"must be a list{shown}"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"must be a mapping of keys to values{shown}"
        case "too_short":
            return "must not be empty"
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case "string_pattern_mismatch":
            return f"{given!r} is not allowed here; it must match {detail['ctx']['pattern']}"
        case "union_tag_invalid":
            return f"unknown kind {detail['ctx']['tag']!r}; known: {detail['ctx']['expected_tags']}"
        case "literal_error":
            return f"{given!r} is not one of {detail['ctx']['expected']}"
        case _:
            return detail["msg"][:1].lower() + detail["msg"][1:] + shown


def _guess(detail: ErrorDetails, names: list[str]) -> str:
    """Suggest the nearest name for a misspelt key or word."""
    context = detail.get("ctx", {})
    if detail["type"] == "extra_forbidden":
        word, known = str(detail["loc"][-1]), names
    elif detail["type"] in {"literal_error", "union_tag_invalid"}:
        word = str(context.get("tag", detail["input"]))
        known = [part.strip("' ") for part in str(context.get("expected", context.get("expected_tags"))).split(",")]
        known = [part.strip("' ") for name in known for part in name.split(" or ")]
    else:
        return ""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else f" (known: {', '.join(names)})" if names else ""


def _names_at(model: type[BaseModel], location: Location) -> list[str]:
    """Return the keys that the model allows at ``location``, from its JSON Schema; a step may be a union's tag."""
    schema = model.model_json_schema()
    nodes = _branches(schema, schema)
    for step in location:
        tagged = [node for node in nodes if node.get("properties", {}).get("kind", {}).get("const") == step]
        inner = [node["items"] if isinstance(step, int) else node["properties"][step]
                 for node in nodes
                 if ("items" in node if isinstance(step, int) else step in node.get("properties", {}))]  # fmt: skip
        nodes = tagged or [branch for node in inner for branch in _branches(node, schema)]
    return list(dict.fromkeys(name for node in nodes for name in node.get("properties", {})))


def _branches(node: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Follow references and spread out choices, down to schemas that say what a value is."""
    if "$ref" in node:
        return _branches(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]], schema)
    if choices := node.get("anyOf") or node.get("oneOf"):
        return [branch for choice in choices for branch in _branches(choice, schema)]
    return [node]
