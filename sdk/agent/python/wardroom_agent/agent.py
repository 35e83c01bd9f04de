"""The session of an agent: docs/agent-protocol.md of Wardroom, for asyncio."""
from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import logging
import os
import random
import re
import ssl as tls
import tempfile
from datetime import datetime, timezone
from typing import Any, Awaitable, Callable, Dict, Mapping, Optional, Sequence, Tuple

import websockets

from . import exact
from .errors import MessageRefused, Refused, TaskError
from .model import Message, Reply, Task, message_of, task_of
from .recent import Recent

Handler = Callable[[Task], Awaitable[Any]]
MessageHandler = Callable[[Message], Awaitable[Any]]

SUBPROTOCOL = "wardroom.agent.v1"
PATH = "/api/agents/connect"
FINAL_CLOSE_CODES = {4400, 4403, 4409}  # refused, disconnected by an operator, resumed elsewhere
FLOODED = 4429  # too many frames for too long
COMES_AGAIN = {1009, 1013}  # a frame was too large, or the server cannot go on: the next session may end so too
FINAL_ERRORS = {"VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "CONFLICT"}
FIRST_DELAY, LAST_DELAY = 0.05, 5.0  # seconds between attempts to connect
LONGEST_WAIT = 60.0  # seconds that a refusal may ask for
CONNECT_TIME = 10.0  # seconds for a connection, and for a registration
SILENCE = 3  # heartbeats without a word of the server: it is gone
MAX_FRAME = 16 << 20
ERROR_TEXT = 1024  # characters of an error that is too large to be sent
FRAME_OVERHEAD = 1024  # more than what a frame adds to its payload
PROGRESS_RATE = 40  # frames of progress a second, well below what a server takes by default
RATE_SHARE = 0.4  # of what a server takes that says so
MAX_UNSENT = 64 << 10  # bytes that wait in the connection, beyond which progress is dropped
FRESH, UNKNOWN_PAUSE = 10.0, 1.0  # seconds that a server may not know a task in, and after which it is asked again
TOLD_FOR = 60.0  # seconds in which what needs no reply may be sent again
MOST_TOLD = 64  # that may be, as the server takes them at once
LIMITED_PAUSE, LIMITED_TRIES = 2.0, 5  # seconds before what was dropped for its rate is asked again, doubled with each try
GRACE = 5.0  # seconds for what is cancelled to end

log = logging.getLogger("wardroom_agent")

Answer = Tuple[str, Dict[str, Any]]  # type and payload of a frame


class Agent:
    """An agent, which runs once.

    handler is called for each task, up to max_concurrent_tasks at once. Without on_message, messages of other roles that want a
    reply get none, and the server asks the next role. An Agent belongs to the event loop that run is called on.
    """

    def __init__(
        self, url: str, name: str, capabilities: Sequence[str], handler: Handler, *, token: str = "",
        on_message: Optional[MessageHandler] = None, max_concurrent_tasks: int = 1, region: str = "",
        metadata: Optional[Mapping[str, Any]] = None, ssl: Optional[tls.SSLContext] = None, state_file: str = "",
    ) -> None:
        if not re.match("(http|ws)s?://.", url):
            raise ValueError(f"url: {url!r} is no address such as http://127.0.0.1:8080")
        if not name.strip() or not capabilities:
            raise ValueError("an agent needs a name and at least one capability")
        if isinstance(capabilities, str):
            raise ValueError("capabilities: a list is needed, not one text")
        if max_concurrent_tasks < 1:
            raise ValueError("max_concurrent_tasks: must be at least 1")
        self._url = re.sub("^http", "ws", url.rstrip("/")) + PATH
        self._name, self._capabilities, self._region = name, list(capabilities), region
        self._handler, self._on_message = handler, on_message
        self._headers = {"Authorization": "Bearer " + token} if token else {}
        self._slots, self._metadata, self._ssl = max_concurrent_tasks, dict(metadata or {}), ssl
        self._state_file = state_file
        self._session: Optional[Tuple[str, str]] = None  # agentId, resumeToken
        self._ws: Any = None  # the registered connection
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._limit = MAX_FRAME  # bytes of a frame that the server takes
        self._rate = PROGRESS_RATE
        self._progress_at, self._progress_sent = 0, 0  # the second in which progress was sent last, and frames in it
        self._told_until = 0.0  # when what was told up to now would have been sent, evenly spread
        self._line: asyncio.Lock  # of what waits to be told
        self._heard = False  # a frame arrived since the last heartbeat
        self._attached = 0.0  # when the session began
        self._interval = 0.0  # seconds between heartbeats
        self._paced: asyncio.Event  # the interval has changed
        self._free: asyncio.Semaphore
        self._stopping: asyncio.Event
        self._draining = False
        self._idle: asyncio.Event  # nothing runs, and everything is acknowledged
        self._running: Dict[str, "asyncio.Task[None]"] = {}  # by task id
        self._attempts: Dict[str, int] = {}  # of those that run: the highest seen, which the answer echoes
        self._answers: Dict[str, Answer] = {}  # until the server acknowledges them
        self._recent: Recent[Answer] = Recent()  # acknowledged
        self._questions: Dict[str, _Question] = {}  # by envelope id, until there is a reply
        self._told: Recent[_Question] = Recent(MOST_TOLD)  # by envelope id: what needs no reply
        self._ask_prefix = f"ask-{random.SystemRandom().getrandbits(64):016x}-"  # ids are never used again
        self._asked = 0
        self._sending: "set[asyncio.Task[None]]" = set()
        self._considering: Dict[str, "asyncio.Task[None]"] = {}  # by message id
        self._replies: Recent[Dict[str, Any]] = Recent()

    async def run(self) -> None:
        """Connects, reconnects and resumes until stop, the end of drain, or a refusal, which it raises as Refused."""
        if self._loop:
            raise RuntimeError("run was called before")
        self._loop = asyncio.get_running_loop()
        self._free, self._stopping, self._idle = asyncio.Semaphore(self._slots), asyncio.Event(), asyncio.Event()
        self._line = asyncio.Lock()
        self._note_idle()
        self._session = self._load_state()
        stop = asyncio.ensure_future(self._stopping.wait())
        delay = FIRST_DELAY
        try:
            while not stop.done():
                serving = asyncio.ensure_future(self._connect())
                flooded, asked = False, 0.0
                try:
                    await asyncio.wait({serving, stop}, return_when=asyncio.FIRST_COMPLETED)
                    if stop.done():
                        break
                    end = await serving
                    flooded = end == "flooded"  # the server wants to be left alone for a while
                    if end == "useful":
                        delay = FIRST_DELAY  # come back quickly
                except (OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
                    response = getattr(error, "response", error)
                    asked = _retry_after(response)
                    if getattr(response, "status_code", 0) in (401, 403):
                        raise Refused(f"HTTP {response.status_code}") from error
                    log.warning("connection lost: %s", error or type(error).__name__)
                finally:
                    if stop.done():
                        await self._leave()
                    await _ended(serving)
                await asyncio.wait({stop}, timeout=asked + (LAST_DELAY if flooded else random.uniform(delay / 2, delay)))
                delay = min(2 * delay, LAST_DELAY)
        finally:
            self._stopping.set()
            await _ended(stop, *self._running.values(), *self._considering.values())

    def stop(self) -> None:
        """Ends run: what is being worked on is cancelled and goes to other agents. To be called on the loop of run."""
        if self._loop:
            self._stopping.set()

    async def drain(self) -> None:
        """Takes no more tasks, finishes those that run, waits until their answers are stored, and ends run."""
        if not self._loop or self._stopping.is_set():
            return
        self._draining = True
        with contextlib.suppress(websockets.ConnectionClosed):
            await self._beat()
        idle, stop = asyncio.ensure_future(self._idle.wait()), asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({idle, stop}, return_when=asyncio.FIRST_COMPLETED)
        await _ended(idle, stop)
        self.stop()

    async def _connect(self) -> str:
        """Runs one session and returns how it ended: useful, useless or flooded.

        It was useful if a frame came after the registration, so that the server works, and did not end in a way that comes again.
        """
        # The name of the parameter for headers changed when the library got its new client.
        parameters = inspect.signature(websockets.connect.__init__).parameters
        headers = "additional_headers" if "additional_headers" in parameters else "extra_headers"
        options: Dict[str, Any] = {
            headers: self._headers, "subprotocols": [SUBPROTOCOL], "max_size": MAX_FRAME, "compression": None,
            "open_timeout": CONNECT_TIME, "close_timeout": 1,
        }
        if self._ssl:
            options["ssl"] = self._ssl
        async with websockets.connect(self._url, **options) as ws:
            if ws.subprotocol != SUBPROTOCOL:
                raise Refused("the server does not speak " + SUBPROTOCOL)
            await self._send("register", self._registration(), ws=ws)
            frame: Optional[Dict[str, Any]] = None
            with contextlib.suppress(websockets.ConnectionClosed):
                frame = _frame_of(await asyncio.wait_for(ws.recv(), CONNECT_TIME))
            useful = False
            if frame and frame.get("type") == "registered" and _is_registration(frame["payload"]):
                useful = await self._serve(ws, frame["payload"])
            elif frame:
                self._refuse(frame)
                await ws.close()
            if ws.close_code in FINAL_CLOSE_CODES:
                raise Refused(f"closed with {ws.close_code} {ws.close_reason}")
            if ws.close_code == FLOODED:
                return "flooded"
            return "useful" if useful and ws.close_code not in COMES_AGAIN else "useless"

    def _registration(self) -> Dict[str, Any]:
        p: Dict[str, Any] = {
            "name": self._name, "capabilities": self._capabilities, "config": {"maxConcurrentTasks": self._slots},
        }
        if self._region:
            p["region"] = self._region
        if self._metadata:
            p["metadata"] = self._metadata
        if self._session:
            p["resume"] = {
                "agentId": self._session[0], "token": self._session[1], "tasks": sorted({*self._running, *self._answers}),
            }
        return p

    async def _serve(self, ws: Any, p: Mapping[str, Any]) -> bool:
        """Is one session, from its registration to the end of the connection. Returns whether a frame came."""
        useful = False
        self._session = (p["agentId"], p["resumeToken"])
        self._save_state()
        if not p.get("resumed"):  # the tasks were given to others; answers are still worth sending
            for task_id in list(self._running):
                self._drop(task_id)
            for considering in self._considering.values():
                considering.cancel()
        config = p.get("config") or {}
        self._limit = config.get("maxMessageBytes") or MAX_FRAME
        self._rate = _rate_of(config.get("messagesPerSecond")) or PROGRESS_RATE
        self._ws, self._heard, self._attached = ws, True, self._now()
        self._interval, self._paced = (config.get("heartbeatInterval") or 10000) / 1000, asyncio.Event()
        heart = asyncio.ensure_future(self._heartbeats(ws))
        try:
            if p.get("resumed"):  # before the answers: messages are taken from tasks that go on only
                for said_id, said in self._told.items():
                    if self._worth_saying(said):
                        await self._send_question(said_id, said)
            for task_id in list(self._answers):
                await self._deliver(task_id)
            for ask_id, question in list(self._questions.items()):
                try:
                    self._check_size(question.payload)  # the server took more when it was asked
                except MessageRefused as refusal:
                    question.refuse(refusal)
                    continue
                await self._send_question(ask_id, question)
            if self._draining:
                await self._beat()
            async for text in ws:
                self._heard, useful = True, True
                frame = _frame_of(text)
                if frame:
                    try:
                        await self._act(frame)
                    except (AttributeError, KeyError, TypeError, ValueError) as error:
                        log.warning("a frame of type %s cannot be read: %r", frame.get("type"), error)
        except websockets.ConnectionClosed:
            pass  # its close code tells
        finally:
            self._ws = None
            await _ended(heart)
        return useful

    async def _act(self, frame: Mapping[str, Any]) -> None:
        kind, p, frame_id = frame.get("type"), frame["payload"], frame.get("id")
        if kind == "task":
            await self._take(p, frame_id)
        elif kind == "task_ack":
            answer = self._answers.pop(p["taskId"], None)
            if answer and not answer[1].get("retryable"):
                self._recent.add(p["taskId"], answer, _size_of(answer[1]))
            self._note_idle()
        elif kind == "task_cancelled":
            self._drop(p["taskId"])
        elif kind == "message":
            await self._hear(p)
        elif kind == "config_update":
            config = p.get("config") or {}
            self._limit = config.get("maxMessageBytes") or self._limit
            self._rate = _rate_of(config.get("messagesPerSecond")) or self._rate
            if (config.get("heartbeatInterval") or 0) > 0:
                self._interval = config["heartbeatInterval"] / 1000
                self._paced.set()
        elif kind == "message_reply" and frame_id in self._questions:
            future = self._questions[frame_id].reply
            if future and not future.done():
                future.set_result(Reply(p.get("messageId", ""), p.get("from", ""), p.get("content")))
        elif kind == "error":
            self._fail(frame, frame_id)

    def _fail(self, frame: Mapping[str, Any], frame_id: Optional[str]) -> None:
        """Takes an error of the server: of a message that is sent again later, of one that is refused, or of something else."""
        p, now = frame["payload"], self._now()
        question = self._questions.get(frame_id or "")
        said = question or self._told.get(frame_id or "")
        limited = p.get("code") == "RATE_LIMITED"
        if limited:  # it names one of the frames that are dropped in a second: other messages may be gone too
            for said_id, other in (*self._questions.items(), *self._told.items()):
                if other is not said and now - other.sent < LIMITED_PAUSE:
                    self._say_later(said_id, other, LIMITED_PAUSE)
        if said and frame_id and limited and said.limited < LIMITED_TRIES:
            self._say_later(frame_id, said, LIMITED_PAUSE * 2 ** said.limited)
            said.limited += 1
        elif said and frame_id and p.get("code") == "NOT_FOUND" and now - self._attached < FRESH:
            self._say_later(frame_id, said, UNKNOWN_PAUSE)
        elif question:
            question.refuse(MessageRefused(p.get("code", ""), p.get("message", "")))
        else:
            self._refuse(frame)

    async def _take(self, p: Mapping[str, Any], frame_id: Optional[str]) -> None:
        """Starts a task, unless it is known: a server that was restarted may send it again."""
        task = task_of(self, p)
        task_id = task.task_id
        answer = self._answers.get(task_id)
        if answer and answer[1].get("retryable") and task.attempt > answer[1]["attempt"]:
            del self._answers[task_id]  # it failed, and is wanted once more
            self._forget_told(task_id)
        elif answer is None:
            known = self._recent.pop(task_id)
            if known:
                self._answers[task_id] = known
        self._attempts[task_id] = max(task.attempt, self._attempts.get(task_id, 0))
        if task_id in self._answers:
            await self._deliver(task_id)
        elif task_id not in self._running:
            self._running[task_id] = asyncio.ensure_future(self._work(task, frame_id))
        self._note_idle()

    def _drop(self, task_id: str) -> None:
        """Forgets a task that is not wanted any more."""
        self._answers.pop(task_id, None)
        self._attempts.pop(task_id, None)
        self._forget_told(task_id)
        work = self._running.pop(task_id, None)
        if work:
            work.cancel()
        self._note_idle()

    async def _work(self, task: Task, frame_id: Optional[str]) -> None:
        async with self._free:
            answer = await self._handle(task)
        if self._running.get(task.task_id) is not asyncio.current_task():
            return  # dropped meanwhile, by a handler that did not let itself be cancelled
        del self._running[task.task_id]
        self._answers[task.task_id] = answer
        await self._deliver(task.task_id, frame_id)

    async def _handle(self, task: Task) -> Answer:
        report: Dict[str, Any] = {"taskId": task.task_id, "executionId": task.execution_id}
        try:
            result = await self._timed(task)
            payload = {**report, "status": "completed", "result": result}
            try:
                size = len(exact.dumps(payload, allow_nan=False).encode())
            except (TypeError, ValueError, RecursionError, UnicodeEncodeError) as error:
                raise TaskError("BAD_RESULT", f"the result is not JSON: {error}") from error
            if size + FRAME_OVERHEAD > self._limit:  # it would end the connection, be sent again by the next, and so on for ever
                raise TaskError("RESULT_TOO_LARGE", f"the result has {size} bytes, the server takes messages of {self._limit}")
            return "task_result", payload
        except TaskError as error:
            detail: Dict[str, Any] = {"code": error.code, "message": error.message[:4096]}
            with contextlib.suppress(TypeError, ValueError, RecursionError):
                if error.details is not None and len(exact.dumps(error.details, allow_nan=False)) + 8192 < self._limit:
                    detail["details"] = dict(error.details)
            return "task_error", {**report, "error": detail, "retryable": error.retryable}
        except _TimeOver:
            return "task_error", {**report, "error": {"code": "TIMEOUT", "message": "the task's time was over"}, "retryable": True}
        except Exception as error:  # whatever goes wrong in a handler is the task's error
            text = (str(error) or type(error).__name__)[:4096]
            return "task_error", {**report, "error": {"code": "AGENT_ERROR", "message": text}, "retryable": False}

    async def _timed(self, task: Task) -> Any:
        """Calls the handler, and cancels it once the task's time is over."""
        handler = asyncio.ensure_future(self._handler(task))
        task._clock.start(handler)
        try:
            return await handler
        except asyncio.CancelledError:
            if self._stopping.is_set() or self._running.get(task.task_id) is not asyncio.current_task():
                raise
            if task._clock.over:
                raise _TimeOver() from None
            raise RuntimeError("the handler was cancelled") from None  # by itself
        finally:
            task._clock.stop()

    async def _deliver(self, task_id: str, frame_id: Optional[str] = None) -> None:
        kind, payload = self._answers[task_id]
        payload["attempt"] = self._attempts.pop(task_id, payload.get("attempt", 0))
        size = _size_of(payload)
        if size + FRAME_OVERHEAD > self._limit:  # the server took more when the handler answered
            if kind == "task_result":
                kind = "task_error"
                text = f"the result has {size} bytes, the server takes messages of {self._limit}"
                payload = {
                    "taskId": task_id, "executionId": payload["executionId"], "attempt": payload["attempt"], "retryable": False,
                    "error": {"code": "RESULT_TOO_LARGE", "message": text},
                }
            else:
                error = payload["error"]
                payload = {**payload, "error": {"code": error["code"], "message": error["message"][:ERROR_TEXT]}}
            self._answers[task_id] = kind, payload
        with contextlib.suppress(websockets.ConnectionClosed):  # it is kept, and sent by the next session
            await self._send(kind, payload, frame_id)

    async def _progress(self, task_id: str, payload: Mapping[str, Any]) -> None:
        """Sends progress, unless much waits already, or the agent has sent too many of late."""
        if payload.get("text") == "":  # the server takes a frame that shows nothing for a bad one
            return
        payload = {"taskId": task_id, **payload}
        size = _size_of(payload)
        if not self._ws or self._ws.transport.get_write_buffer_size() > MAX_UNSENT or size + FRAME_OVERHEAD > self._limit:
            return
        second = int(self._now())
        if second != self._progress_at:
            self._progress_at, self._progress_sent = second, 0
        if self._progress_sent >= self._rate:
            return
        self._progress_sent += 1
        with contextlib.suppress(websockets.ConnectionClosed):
            await self._send("task_progress", payload)

    async def _ask(self, task: Task, kind: str, content: Any, topic: str, to: str) -> Reply:
        payload, ask_id = self._question(task.task_id, kind, content, topic, to)
        reply: "asyncio.Future[Reply]" = asyncio.get_running_loop().create_future()
        question = _Question(payload, reply)
        self._questions[ask_id] = question  # each new session sends it again, until there is a reply
        task._clock.pause()
        try:
            await self._send_question(ask_id, question)
            return await reply
        finally:
            task._clock.resume()
            del self._questions[ask_id]
            if question.timer:
                question.timer.cancel()

    async def _send_question(self, ask_id: str, question: _Question) -> None:
        question.sent = self._now()
        with contextlib.suppress(websockets.ConnectionClosed):
            await self._send("message", question.payload, ask_id)

    def _say_later(self, said_id: str, said: "_Question", pause: float) -> None:
        """Sends a message once more after a pause. One that is about to be sent needs no second word."""
        if not said.timer:
            said.timer = asyncio.get_running_loop().call_later(pause, self._say_again, said_id, said)

    def _say_again(self, said_id: str, said: "_Question") -> None:
        said.timer = None
        over = said.payload["taskId"] not in self._running or self._now() - said.began > TOLD_FOR
        if not said.reply and (over or self._told.get(said_id) is not said):
            return
        sending = asyncio.ensure_future(self._send_question(said_id, said))
        self._sending.add(sending)  # the loop itself does not keep it
        sending.add_done_callback(self._sending.discard)

    async def _tell(self, task_id: str, kind: str, content: Any, topic: str, to: str) -> None:
        payload, said_id = self._question(task_id, kind, content, topic, to)
        async with self._line:  # who leaves it takes no turn
            wait = max(self._told_until - self._now(), 0) + 1 / self._rate - 1
            if wait > 0:  # a second's worth at once, then evenly: the server drops none
                await asyncio.sleep(wait)
            self._told_until = max(self._told_until, self._now()) + 1 / self._rate
        said = _Question(payload, None, self._now())
        self._told.add(said_id, said, _size_of(payload))
        await self._send_question(said_id, said)

    def _worth_saying(self, said: "_Question") -> bool:
        """Whether what was told may be sent once more, as it may have been on its way when the connection broke."""
        task_id = said.payload["taskId"]
        return (
            (task_id in self._running or task_id in self._answers) and self._now() - said.began <= TOLD_FOR
            and _size_of(said.payload) + FRAME_OVERHEAD <= self._limit
        )

    def _forget_told(self, task_id: str) -> None:
        """Forgets what was told of a task, before the task ends without an answer or begins anew."""
        for said_id, said in self._told.items():
            if said.payload["taskId"] == task_id:
                self._told.pop(said_id)

    def _question(self, task_id: str, kind: str, content: Any, topic: str, to: str) -> Tuple[Dict[str, Any], str]:
        p = {"taskId": task_id, "messageType": kind, "topic": topic, "to": to, "content": content}
        p = {key: value for key, value in p.items() if value != "" or key == "content"}
        self._check_size(p)
        self._asked += 1
        return p, self._ask_prefix + str(self._asked)

    def _check_size(self, payload: Mapping[str, Any]) -> None:
        """Raises MessageRefused for what would end the connection, be sent again by the next, and so on for ever."""
        try:
            size = _size_of(payload)
        except (TypeError, ValueError, RecursionError) as error:
            raise MessageRefused("VALIDATION_ERROR", f"content: it is not JSON: {error}") from error
        if size + FRAME_OVERHEAD > self._limit:
            raise MessageRefused("VALIDATION_ERROR", f"content: the message has {size} bytes, the server takes frames of {self._limit}")

    async def _hear(self, p: Mapping[str, Any]) -> None:
        """Answers a message of another role, once; one that comes again is answered from memory."""
        message = message_of(p)
        known = self._replies.get(message.message_id)
        if known:
            await self._reply(known)
        elif message.message_id not in self._considering:
            self._considering[message.message_id] = asyncio.ensure_future(self._consider(message))

    async def _consider(self, message: Message) -> None:
        try:
            reply: Dict[str, Any] = {"messageId": message.message_id}
            if self._on_message:
                content = await self._on_message(message)
                if message.wants_reply:  # without content it only says that the message has arrived
                    reply["content"] = content
                    self._check_size(reply)
            elif message.wants_reply:
                return
            self._replies.add(message.message_id, reply, _size_of(reply))
            await self._reply(reply)
        except Exception as error:  # no reply: when its time is over, the server asks somebody else
            log.warning("no reply to a message: %s", error or type(error).__name__)
        finally:
            self._considering.pop(message.message_id, None)

    async def _reply(self, reply: Mapping[str, Any]) -> None:
        if _size_of(reply) + FRAME_OVERHEAD > self._limit:  # the server took more when it was given
            log.warning("a reply to a message is larger than the server takes now")
            return
        with contextlib.suppress(websockets.ConnectionClosed):  # the message will come again
            await self._send("message_reply", reply)

    async def _heartbeats(self, ws: Any) -> None:
        silent = 0
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._paced.wait(), self._interval)
                    self._paced.clear()  # another interval holds: it begins now
                    continue
                silent = 0 if self._heard else silent + 1  # no clock: this loop may have been held up by a handler
                self._heard = False
                if silent >= SILENCE:  # it answers heartbeats, so it is gone
                    log.warning("connection lost: nothing was heard of the server")
                    ws.transport.abort()
                    return
                with contextlib.suppress(asyncio.TimeoutError):  # a server that reads nothing does not end the watch
                    await asyncio.wait_for(self._beat(), self._interval)

    async def _beat(self) -> None:
        status = "draining" if self._draining else "busy" if len(self._running) >= self._slots else "healthy"
        await self._send("heartbeat", {"status": status, "activeTasks": len(self._running)})

    async def _leave(self) -> None:
        """Says good-bye, so that the server gives the tasks to others at once."""
        await _ended(*self._running.values(), *self._considering.values())
        ws = self._ws
        if ws:
            with contextlib.suppress(websockets.ConnectionClosed):
                await self._send("disconnect", {"reason": "drained" if self._draining else "stopped"}, ws=ws)
                await ws.close()

    async def _send(self, kind: str, payload: Mapping[str, Any], frame_id: Optional[str] = None, ws: Any = None) -> None:
        ws = ws or self._ws
        if not ws:
            return
        frame = {"type": kind, "timestamp": datetime.now(timezone.utc).isoformat(timespec="milliseconds"), "payload": payload}
        await ws.send(exact.dumps({**frame, "id": frame_id} if frame_id else frame))

    def _refuse(self, frame: Mapping[str, Any]) -> None:
        p = frame.get("payload") or {}
        log.warning("error from the server: %s %s", p.get("code"), p.get("message"))
        if p.get("fatal") and p.get("code") in FINAL_ERRORS:
            raise Refused(f"{p['code']}: {p.get('message', '')}")

    def _note_idle(self) -> None:
        if self._running or self._answers:
            self._idle.clear()
        else:
            self._idle.set()

    def _now(self) -> float:
        assert self._loop
        return self._loop.time()

    def _load_state(self) -> Optional[Tuple[str, str]]:
        if not self._state_file:
            return None
        try:
            with open(self._state_file, encoding="utf-8") as file:
                state = json.load(file)
            return str(state["agentId"]), str(state["resumeToken"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            log.warning("%s is no state of an agent, and is replaced: %s", self._state_file, error)
            return None

    def _save_state(self) -> None:
        if not self._state_file or not self._session:
            return
        directory = os.path.dirname(os.path.abspath(self._state_file))
        try:
            handle, temp = tempfile.mkstemp(dir=directory)  # mode 0600
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump({"agentId": self._session[0], "resumeToken": self._session[1]}, file)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temp, self._state_file)
            except BaseException:
                os.unlink(temp)
                raise
        except OSError as error:  # a full disk costs the session at a restart, not the work
            log.warning("the session is not kept: %s", error)


class _Question:
    """A message that waits for its reply, or, without a reply, one that may be sent again."""

    def __init__(self, payload: Dict[str, Any], reply: "Optional[asyncio.Future[Reply]]", began: float = 0.0) -> None:
        self.payload, self.reply, self.began = payload, reply, began
        self.sent = 0.0  # the last time
        self.limited = 0  # how often it was refused for the rate
        self.timer: Optional[asyncio.TimerHandle] = None  # of the next time, while one is planned

    def refuse(self, refusal: MessageRefused) -> None:
        if self.reply and not self.reply.done():
            self.reply.set_exception(refusal)


class _TimeOver(Exception):
    """The task's time was over. Not a TimeoutError, as a handler may have one of its own."""


def _frame_of(text: Any) -> Optional[Dict[str, Any]]:
    """Returns a frame with an object as its payload, or None for what is no frame, which is logged."""
    try:
        frame = exact.loads(text)
        if isinstance(frame, dict) and isinstance(frame.setdefault("payload", {}) or {}, dict):
            frame["payload"] = frame["payload"] or {}
            return frame
        problem: Any = "it is no object"
    except (ValueError, RecursionError) as error:
        problem = error
    log.warning("a frame of the server cannot be read: %s", problem)
    return None


def _retry_after(refusal: Any) -> float:
    """Returns for how many seconds a refusal wants the agent to stay away; 0 without such a wish."""
    headers = getattr(refusal, "headers", None)
    asked = headers.get_all("Retry-After") if headers else []
    return min(float(asked[0]), LONGEST_WAIT) if asked and re.fullmatch("[0-9]{1,9}", asked[0]) else 0.0


def _is_registration(p: Mapping[str, Any]) -> bool:
    return isinstance(p.get("agentId"), str) and isinstance(p.get("resumeToken"), str) and isinstance(p.get("config") or {}, dict)


def _size_of(payload: Mapping[str, Any]) -> int:
    return len(exact.dumps(payload, allow_nan=False))  # ASCII


def _rate_of(messages_per_second: Optional[int]) -> int:
    """Returns how many frames of progress a second a server gets that takes so many frames; 0: it did not say."""
    if not messages_per_second or messages_per_second < 0:
        return 0
    return min(PROGRESS_RATE, max(1, int(RATE_SHARE * messages_per_second)))


async def _ended(*tasks: "asyncio.Future[Any]") -> None:
    """Cancels tasks and waits for their end, whatever it is; not for ever, as a handler may not let itself be cancelled."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=GRACE)
