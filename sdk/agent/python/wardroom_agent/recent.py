"""What was settled last."""
from __future__ import annotations

import collections
from typing import Generic, List, Optional, Tuple, TypeVar

T = TypeVar("T")

MOST = 1000  # entries, if it is not said
MOST_BYTES = 4 << 20  # of all entries but the newest


class Recent(Generic[T]):
    """Remembers values by an id, in case a task or a message comes once more. The oldest go."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._entries: "collections.OrderedDict[str, Tuple[T, int]]" = collections.OrderedDict()
        self._bytes = 0

    def add(self, entry_id: str, value: T, size: int) -> None:
        self.pop(entry_id)
        self._entries[entry_id] = value, size
        self._bytes += size
        while len(self._entries) > self._most or self._bytes > MOST_BYTES and len(self._entries) > 1:
            self.pop(next(iter(self._entries)))

    def get(self, entry_id: str) -> Optional[T]:
        entry = self._entries.get(entry_id)
        return entry[0] if entry else None

    def items(self) -> List[Tuple[str, T]]:
        return [(entry_id, value) for entry_id, (value, _) in self._entries.items()]

    def pop(self, entry_id: str) -> Optional[T]:
        entry = self._entries.pop(entry_id, None)
        if not entry:
            return None
        self._bytes -= entry[1]
        return entry[0]
