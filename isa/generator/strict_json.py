"""JSON with one message per mistake; repeated keys are refused (json.load would keep the last)."""
import json


class BadInput(Exception):
    """A proof failed; the text is `file: item: rule`."""


def _no_repeats(pairs):
    seen = {}
    for key, value in pairs:
        if key in seen:
            raise ValueError(f"key '{key}' appears twice")
        seen[key] = value
    return seen


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f, object_pairs_hook=_no_repeats)
    except (OSError, ValueError) as e:
        raise BadInput(f"{path}: {e}") from e
