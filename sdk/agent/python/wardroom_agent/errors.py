"""What goes wrong between an agent and its server."""
from __future__ import annotations

from typing import Any, Mapping, Optional


class Refused(Exception):
    """The server does not want this agent, and trying again does not help."""


class MessageRefused(Exception):
    """A message to another role goes nowhere. code is the server's, such as NOT_FOUND."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class TaskError(Exception):
    """The error of a task, as a handler raises it. retryable: another attempt may succeed, perhaps by another agent."""

    def __init__(
        self, code: str, message: str, *, retryable: bool = False, details: Optional[Mapping[str, Any]] = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.retryable, self.details = code, message, retryable, details
