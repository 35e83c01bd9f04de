"""The time that a task has."""
from __future__ import annotations

import asyncio
from typing import Any, Optional


class Clock:
    """Cancels a handler once the task's time is over. It stands still while the task waits for replies, as the server's does."""

    def __init__(self, limit: float) -> None:
        self.over = False
        self._left = limit  # seconds; 0: there is no limit
        self._due = 0.0  # while it runs
        self._waits = 0  # questions without a reply
        self._handler: Optional["asyncio.Future[Any]"] = None
        self._timer: Optional[asyncio.TimerHandle] = None

    def start(self, handler: "asyncio.Future[Any]") -> None:
        self._handler = handler
        self._go()

    def pause(self) -> None:
        self._waits += 1
        if self._timer:
            self._left = max(self._due - asyncio.get_running_loop().time(), 0.001)
        self._halt()

    def resume(self) -> None:
        self._waits -= 1
        self._go()

    def stop(self) -> None:
        self._handler = None
        self._halt()

    def _go(self) -> None:
        if self._handler and self._left and not self._waits:
            loop = asyncio.get_running_loop()
            self._due = loop.time() + self._left
            self._timer = loop.call_at(self._due, self._end)

    def _halt(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None

    def _end(self) -> None:
        self._timer, self._left = None, 0
        if self._handler:
            self.over = True
            self._handler.cancel()
