"""JSON whose numbers are passed on as they came."""
from __future__ import annotations

import contextlib
import json
import os
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Tuple

_MARK = os.urandom(16).hex()  # begins strings that stand for numbers between value and text
_MARKED = re.compile(f'"{_MARK}([^"]*)"')


class Exact(float):
    """A number that a float does not hold, such as 1e400: the float that is nearest, inf there, with the text that came."""

    met = False  # there was one: what is written may have it

    text: str

    def __new__(cls, text: str) -> "Exact":
        number = super().__new__(cls, text)
        number.text = text
        Exact.met = True
        return number

    def __getnewargs__(self) -> Tuple[str]:  # type: ignore[override]
        return (self.text,)


def loads(text: Any) -> Any:
    """json.loads, with numbers that dumps writes as they came."""
    try:
        return json.loads(text, parse_float=_float)
    except json.JSONDecodeError:
        raise
    except ValueError:  # a whole number has more digits than Python reads
        return json.loads(text, parse_float=_float, parse_int=_int)


def dumps(value: Any, allow_nan: bool = True) -> str:
    """json.dumps."""
    if Exact.met:
        with contextlib.suppress(RecursionError):  # too deep to be gone through here, or circular
            return _MARKED.sub(r"\1", json.dumps(_marked(value), allow_nan=allow_nan))
    return json.dumps(value, allow_nan=allow_nan)


def _float(text: str) -> float:
    value = float(text)
    return value if repr(value) == text or _same(value, text) else Exact(text)


def _same(value: float, text: str) -> bool:
    try:
        return Decimal(repr(value)) == Decimal(text)
    except InvalidOperation:  # an exponent beyond all bounds
        return False


def _int(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return Exact(text)


def _marked(value: Any) -> Any:
    if isinstance(value, Exact):
        return _MARK + value.text
    if isinstance(value, dict):
        return {key: _marked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_marked(item) for item in value]
    return value
