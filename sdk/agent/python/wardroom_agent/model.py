"""What handlers get: tasks, and messages of other roles."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Mapping, Optional

from .clock import Clock

if TYPE_CHECKING:
    from .agent import Agent


@dataclasses.dataclass(frozen=True)
class Reply:
    """The answer of another role to Task.ask."""

    message_id: str
    sender: str  # the role, or person
    content: Any


@dataclasses.dataclass(frozen=True)
class Message:
    """What another role of an org chart asks or tells."""

    message_id: str
    execution_id: str
    task_id: str
    sender: str
    kind: str  # such as question or feedback
    topic: str
    content: Any
    wants_reply: bool


@dataclasses.dataclass(frozen=True)
class Task:
    """A task. config may hold secrets: do not log it."""

    task_id: str
    execution_id: str
    pattern_name: str
    pattern_version: str
    input: Any
    timeout: float  # seconds
    priority: str  # low, normal, high or critical
    attempt: int
    capability: str
    role: str  # of an org chart; empty in a flat pattern
    step: str
    config: Mapping[str, Any]
    context: Mapping[str, Any]
    traceparent: str  # of the attempt, as W3C Trace Context has it; empty: it is in no trace
    _agent: "Agent" = dataclasses.field(repr=False, compare=False)
    _clock: Clock = dataclasses.field(repr=False, compare=False)

    async def progress(self, *, text: Optional[str] = None, data: Any = None) -> None:
        """Shows text, or data, to whoever watches.

        It is not stored, and dropped while there is no connection, when much waits to be sent, where the agent has sent too much of
        late, when it is larger than a frame may be, and when it is an empty text.
        """
        if (text is None) == (data is None):
            raise ValueError("progress takes either text or data")
        await self._agent._progress(self.task_id, {"text": text} if data is None else {"data": data})

    async def ask(self, content: Any, *, topic: str = "", to: str = "", kind: str = "question") -> Reply:
        """Asks another role, as the org chart routes it, and waits for its reply; the task's time stands still meanwhile.

        Raises MessageRefused if it goes nowhere.
        """
        return await self._agent._ask(self, kind, content, topic, to)

    async def tell(self, content: Any, *, topic: str = "", to: str = "", kind: str = "feedback") -> None:
        """Says something to another role and waits only for its turn: the agent tells 40 times a second, or slower as the server takes it.

        What was told in the last minute, up to 64 messages, is sent again by the next connection, while the server has no answer to the task.
        """
        await self._agent._tell(self.task_id, kind, content, topic, to)


def task_of(agent: "Agent", p: Mapping[str, Any]) -> Task:
    timeout = p.get("timeout", 0) / 1000
    return Task(
        task_id=p["taskId"], execution_id=p.get("executionId", ""), pattern_name=p.get("patternName", ""),
        pattern_version=p.get("patternVersion", ""), input=p.get("input"), timeout=timeout,
        priority=p.get("priority", "normal"), attempt=p.get("attempt", 0), capability=p.get("capability", ""),
        role=p.get("role", ""), step=p.get("step", ""), config=p.get("config") or {}, context=p.get("context") or {},
        traceparent=p.get("traceparent", ""), _agent=agent, _clock=Clock(timeout),
    )


def message_of(p: Mapping[str, Any]) -> Message:
    return Message(
        message_id=p["messageId"], execution_id=p.get("executionId", ""), task_id=p.get("taskId", ""), sender=p.get("from", ""),
        kind=p.get("messageType", ""), topic=p.get("topic", ""), content=p.get("content"), wants_reply=p.get("wantsReply", False),
    )
