"""JSON of the calculator as objects."""
from dataclasses import fields
from functools import lru_cache
from typing import Any, Dict, Union, get_args, get_origin, get_type_hints


class Answer:
    """A part of an answer; `data` is the calculator's own JSON of it."""

    data: Dict[str, Any]

    def __repr__(self):
        names = ", ".join(field.name for field in fields(self))
        return f"{type(self).__name__}({names})"


@lru_cache(maxsize=None)
def _hints(kind):
    return get_type_hints(kind)


def read(kind, data):
    """`data` as what its type says."""
    inner = get_args(kind)
    if get_origin(kind) is Union:
        # No answer has more than one type and null.
        return None if data is None else read(inner[0] if inner[0] is not type(None) else inner[1], data)
    if get_origin(kind) is list:
        return [read(inner[0], item) for item in data]
    if get_origin(kind) is tuple:
        return tuple(read(of, item) for of, item in zip(inner, data))
    if not (isinstance(kind, type) and issubclass(kind, Answer)):
        return data
    known = _hints(kind)
    given = {name: data[name.rstrip("_")] for name in (field.name for field in fields(kind)) if name.rstrip("_") in data}
    made = kind(**{name: read(known[name], value) for name, value in given.items()})
    made.data = data
    return made
