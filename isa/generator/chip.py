"""The chip-file schema as Python objects, and its proofs."""
import re
from dataclasses import dataclass

from .model import camel

PATH = re.compile(r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$")
WORD = re.compile(r"^[a-z][a-z0-9_]*$")
TAGS = ("arch", "timing", "cost")
TYPES = ("uint", "string", "choice", "shapes", "clocks")


@dataclass
class Key:
    path: str
    type: str
    unit: str
    tag: str
    doc: str
    low: int
    high: int
    choices: list
    default: object = None  # None: every chip file must say it

    @property
    def part(self):
        return self.path.split(".")[0] if "." in self.path else ""

    @property
    def leaf(self):
        return self.path.split(".")[-1]

    @property
    def enum_name(self):
        """Choices that are words become an enum class, others (LPDDR4-3200) stay text."""
        if self.type == "choice" and all(WORD.match(c) for c in self.choices):
            return camel(self.path.replace(".", "_"))
        return ""


def build(raw, file):
    """Returns (keys, errors)."""
    keys, errors, seen = [], [], {}

    def error(item, rule):
        errors.append(f"{file}: {item}: {rule}")

    if raw.get("schema") != "tessera.chip/1":
        error("schema", f"is {raw.get('schema')!r}: expected 'tessera.chip/1'")
    for k in raw.get("keys", []):
        path = str(k.get("path"))
        allowed = {"path", "type", "unit", "tag", "doc"}
        if k.get("type") == "uint":
            allowed |= {"min", "max", "default"}
        if k.get("type") == "clocks":
            allowed |= {"min", "max"}
        if k.get("type") == "choice":
            allowed |= {"choices", "default"}
        for name in k:
            if name not in allowed:
                error(path, f"unknown key '{name}'; known: {', '.join(sorted(allowed))}")
        if not PATH.match(path):
            error(path, "a path is one or two snake_case words joined by a dot")
        if path in seen:
            error(path, "the path appears twice")
        for other in seen:
            if other.startswith(path + ".") or path.startswith(other + "."):
                error(path, f"is both a value and a part, see {other}")
        seen[path] = True
        if k.get("type") not in TYPES:
            error(path, f"type {k.get('type')!r}: expected one of {', '.join(TYPES)}")
        if k.get("tag") not in TAGS:
            error(path, f"tag {k.get('tag')!r}: expected one of {', '.join(TAGS)}")
        if not str(k.get("doc", "")).strip():
            error(path, "is not documented: every key needs a 'doc' sentence")
        if not isinstance(k.get("unit"), str):
            error(path, "needs a 'unit' (empty for none)")
        low, high = k.get("min", 0), k.get("max", 0)
        if k.get("type") in ("uint", "clocks") and not ("min" in k and "max" in k and 0 <= low <= high < 1 << 63):
            error(path, f"range [{k.get('min')}, {k.get('max')}]: expected 0 <= min <= max < 2^63")
        choices = k.get("choices", [])
        if k.get("type") == "choice" and (not choices or len(set(choices)) != len(choices)):
            error(path, "a choice needs different 'choices'")
        default = {} if k.get("type") == "clocks" else k.get("default")
        if k.get("type") == "uint" and "default" in k and not (type(default) is int and low <= default <= high):
            error(path, f"default {default!r}: expected an integer in [{low}, {high}]")
        if k.get("type") == "choice" and "default" in k and default not in choices:
            error(path, f"default {default!r}: expected one of {', '.join(choices)}")
        keys.append(Key(path, str(k.get("type")), str(k.get("unit")), str(k.get("tag")), str(k.get("doc")), low, high,
                        choices, default))
    return keys, errors
