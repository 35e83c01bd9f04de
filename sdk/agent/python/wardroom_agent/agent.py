"""The session of an agent: docs/agent-protocol.md of Wardroom, for asyncio."""
from __future__ import annotations

import asyncio
import collections
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

from .errors import MessageRefused, Refused, TaskError
from .model import Message, Reply, Task, message_of, task_of

Handler = Callable[[Task], Awaitable[Any]]
MessageHandler = Callable[[Message], Awaitable[Any]]

SUBPROTOCOL = "wardroom.agent.v1"
PATH = "/api/agents/connect"
FINAL_CLOSE_CODES = {4400, 4403, 4409}  # refused, disconnected by an operator, resumed elsewhere
FINAL_ERRORS = {"VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "CONFLICT"}
FIRST_DELAY, LAST_DELAY = 0.05, 5.0  # seconds between attempts to connect
CONNECT_TIME = 10.0  # seconds for a connection, and for a registration
SILENCE = 3  # heartbeats without a word of the server: it is gone
REMEMBERED = 1000  # acknowledged answers, and replies, in case a task or a message comes once more
MAX_FRAME = 16 << 20
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
        self._heard = 0.0  # when the server was heard last
        self._free: asyncio.Semaphore
        self._stopping: asyncio.Event
        self._draining = False
        self._idle: asyncio.Event  # nothing runs, and everything is acknowledged
        self._running: Dict[str, "asyncio.Task[None]"] = {}  # by task id
        self._attempts: Dict[str, int] = {}  # of those that run: the highest seen, which the answer echoes
        self._answers: Dict[str, Answer] = {}  # until the server acknowledges them
        self._recent: "collections.OrderedDict[str, Answer]" = collections.OrderedDict()
        self._questions: Dict[str, Tuple[Dict[str, Any], "asyncio.Future[Reply]"]] = {}  # by envelope id, until there is a reply
        self._ask_prefix = f"ask-{random.SystemRandom().getrandbits(64):016x}-"  # ids are never used again
        self._asked = 0
        self._considering: Dict[str, "asyncio.Task[None]"] = {}  # by message id
        self._replies: "collections.OrderedDict[str, Dict[str, Any]]" = collections.OrderedDict()

    async def run(self) -> None:
        """Connects, reconnects and resumes until stop, the end of drain, or a refusal, which it raises as Refused."""
        if self._loop:
            raise RuntimeError("run was called before")
        self._loop = asyncio.get_running_loop()
        self._free, self._stopping, self._idle = asyncio.Semaphore(self._slots), asyncio.Event(), asyncio.Event()
        self._note_idle()
        self._session = self._load_state()
        stop = asyncio.ensure_future(self._stopping.wait())
        delay = FIRST_DELAY
        try:
            while not stop.done():
                serving = asyncio.ensure_future(self._connect())
                try:
                    await asyncio.wait({serving, stop}, return_when=asyncio.FIRST_COMPLETED)
                    if stop.done():
                        break
                    if await serving:
                        delay = FIRST_DELAY  # it was a working session: come back quickly
                except (OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
                    response = getattr(error, "response", error)
                    if getattr(response, "status_code", 0) in (401, 403):
                        raise Refused(f"HTTP {response.status_code}") from error
                    log.warning("connection lost: %s", error or type(error).__name__)
                finally:
                    if stop.done():
                        await self._leave()
                    await _ended(serving)
                await asyncio.wait({stop}, timeout=random.uniform(delay / 2, delay))
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

    async def _connect(self) -> bool:
        """Runs one session and returns whether it got as far as working."""
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
            frame: Dict[str, Any] = {}
            with contextlib.suppress(websockets.ConnectionClosed):
                frame = json.loads(await asyncio.wait_for(ws.recv(), CONNECT_TIME))
            worked = frame.get("type") == "registered"
            if worked:
                await self._serve(ws, frame["payload"])
            elif frame:
                self._refuse(frame)
                await ws.close()
            if ws.close_code in FINAL_CLOSE_CODES:
                self._forget_state()
                raise Refused(f"closed with {ws.close_code} {ws.close_reason}")
            return worked

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

    async def _serve(self, ws: Any, p: Mapping[str, Any]) -> None:
        """Is one session, from its registration to the end of the connection."""
        self._session = (p["agentId"], p["resumeToken"])
        self._save_state()
        if not p.get("resumed"):  # the tasks were given to others; answers are still worth sending
            for task_id in list(self._running):
                self._drop(task_id)
            for considering in self._considering.values():
                considering.cancel()
        config = p.get("config") or {}
        self._limit = config.get("maxMessageBytes") or MAX_FRAME
        self._ws, self._heard = ws, self._now()
        heart = asyncio.ensure_future(self._heartbeats(ws, config.get("heartbeatInterval", 10000) / 1000))
        try:
            for task_id in list(self._answers):
                await self._deliver(task_id)
            for ask_id, (question, _) in list(self._questions.items()):
                await self._send("message", question, ask_id)
            if self._draining:
                await self._beat()
            async for text in ws:
                self._heard = self._now()
                await self._act(json.loads(text))
        except websockets.ConnectionClosed:
            pass  # its close code tells
        finally:
            self._ws = None
            await _ended(heart)

    async def _act(self, frame: Mapping[str, Any]) -> None:
        kind, p, frame_id = frame.get("type"), frame.get("payload") or {}, frame.get("id")
        if kind == "task":
            await self._take(p, frame_id)
        elif kind == "task_ack":
            answer = self._answers.pop(p["taskId"], None)
            if answer and not answer[1].get("retryable"):
                self._recent[p["taskId"]] = answer
                while len(self._recent) > REMEMBERED:
                    self._recent.popitem(last=False)
            self._note_idle()
        elif kind == "task_cancelled":
            self._drop(p["taskId"])
        elif kind == "message":
            await self._hear(p)
        elif kind == "config_update":
            self._limit = (p.get("config") or {}).get("maxMessageBytes") or self._limit
        elif kind == "message_reply" and frame_id in self._questions:
            future = self._questions[frame_id][1]
            if not future.done():
                future.set_result(Reply(p.get("messageId", ""), p.get("from", ""), p.get("content")))
        elif kind == "error" and frame_id in self._questions:
            future = self._questions[frame_id][1]
            if not future.done():
                future.set_exception(MessageRefused(p.get("code", ""), p.get("message", "")))
        elif kind == "error":
            self._refuse(frame)

    async def _take(self, p: Mapping[str, Any], frame_id: Optional[str]) -> None:
        """Starts a task, unless it is known: a server that was restarted may send it again."""
        task = task_of(self, p)
        task_id = task.task_id
        answer = self._answers.get(task_id)
        if answer and answer[1].get("retryable") and task.attempt > answer[1]["attempt"]:
            del self._answers[task_id]  # it failed, and is wanted once more
        elif answer is None and task_id in self._recent:
            self._answers[task_id] = self._recent.pop(task_id)
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
            result = await asyncio.wait_for(self._handler(task), task.timeout or None)
            payload = {**report, "status": "completed", "result": result}
            try:
                size = len(json.dumps(payload, allow_nan=False).encode())
            except (TypeError, ValueError, RecursionError, UnicodeEncodeError) as error:
                raise TaskError("BAD_RESULT", f"the result is not JSON: {error}") from error
            if size + 1024 > self._limit:  # it would end the connection, be sent again by the next, and so on for ever
                raise TaskError("RESULT_TOO_LARGE", f"the result has {size} bytes, the server takes messages of {self._limit}")
            return "task_result", payload
        except TaskError as error:
            detail: Dict[str, Any] = {"code": error.code, "message": error.message[:4096]}
            with contextlib.suppress(TypeError, ValueError):
                if error.details is not None and len(json.dumps(error.details, allow_nan=False)) + 8192 < self._limit:
                    detail["details"] = dict(error.details)
            return "task_error", {**report, "error": detail, "retryable": error.retryable}
        except asyncio.TimeoutError:
            return "task_error", {**report, "error": {"code": "TIMEOUT", "message": "the task's time was over"}, "retryable": True}
        except Exception as error:  # whatever goes wrong in a handler is the task's error
            text = (str(error) or type(error).__name__)[:4096]
            return "task_error", {**report, "error": {"code": "AGENT_ERROR", "message": text}, "retryable": False}

    async def _deliver(self, task_id: str, frame_id: Optional[str] = None) -> None:
        kind, payload = self._answers[task_id]
        payload["attempt"] = self._attempts.pop(task_id, payload.get("attempt", 0))
        with contextlib.suppress(websockets.ConnectionClosed):  # it is kept, and sent by the next session
            await self._send(kind, payload, frame_id)

    async def _progress(self, task_id: str, payload: Mapping[str, Any]) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            await self._send("task_progress", {"taskId": task_id, **payload})

    async def _ask(self, task_id: str, kind: str, content: Any, topic: str, to: str) -> Reply:
        question, ask_id = self._question(task_id, kind, content, topic, to)
        reply: "asyncio.Future[Reply]" = asyncio.get_running_loop().create_future()
        self._questions[ask_id] = (question, reply)  # each new session sends it again, until there is a reply
        try:
            with contextlib.suppress(websockets.ConnectionClosed):
                await self._send("message", question, ask_id)
            return await reply
        finally:
            del self._questions[ask_id]

    async def _tell(self, task_id: str, kind: str, content: Any, topic: str, to: str) -> None:
        said, said_id = self._question(task_id, kind, content, topic, to)
        with contextlib.suppress(websockets.ConnectionClosed):
            await self._send("message", said, said_id)

    def _question(self, task_id: str, kind: str, content: Any, topic: str, to: str) -> Tuple[Dict[str, Any], str]:
        self._asked += 1
        p = {"taskId": task_id, "messageType": kind, "topic": topic, "to": to, "content": content}
        return {key: value for key, value in p.items() if value != "" or key == "content"}, self._ask_prefix + str(self._asked)

    async def _hear(self, p: Mapping[str, Any]) -> None:
        """Answers a message of another role, once; one that comes again is answered from memory."""
        message = message_of(p)
        if message.message_id in self._replies:
            await self._reply(message.message_id)
        elif message.message_id not in self._considering:
            self._considering[message.message_id] = asyncio.ensure_future(self._consider(message))

    async def _consider(self, message: Message) -> None:
        try:
            reply: Dict[str, Any] = {"messageId": message.message_id}
            if self._on_message:
                content = await self._on_message(message)
                json.dumps(content, allow_nan=False)
                if message.wants_reply:  # without content it only says that the message has arrived
                    reply["content"] = content
            elif message.wants_reply:
                return
            self._replies[message.message_id] = reply
            while len(self._replies) > REMEMBERED:
                self._replies.popitem(last=False)
            await self._reply(message.message_id)
        except Exception as error:  # no reply: when its time is over, the server asks somebody else
            log.warning("no reply to a message: %s", error or type(error).__name__)
        finally:
            self._considering.pop(message.message_id, None)

    async def _reply(self, message_id: str) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):  # the message will come again
            await self._send("message_reply", self._replies[message_id])

    async def _heartbeats(self, ws: Any, interval: float) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                await asyncio.sleep(interval)
                if self._now() - self._heard > SILENCE * interval:  # it answers heartbeats, so it is gone
                    log.warning("connection lost: nothing was heard of the server")
                    ws.transport.abort()
                    return
                await self._beat()

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
        self._forget_state()

    async def _send(self, kind: str, payload: Mapping[str, Any], frame_id: Optional[str] = None, ws: Any = None) -> None:
        ws = ws or self._ws
        if not ws:
            return
        frame = {"type": kind, "timestamp": datetime.now(timezone.utc).isoformat(timespec="milliseconds"), "payload": payload}
        await ws.send(json.dumps({**frame, "id": frame_id} if frame_id else frame))

    def _refuse(self, frame: Mapping[str, Any]) -> None:
        p = frame.get("payload") or {}
        log.warning("error from the server: %s %s", p.get("code"), p.get("message"))
        if p.get("fatal") and p.get("code") in FINAL_ERRORS:
            self._forget_state()
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

    def _forget_state(self) -> None:
        if self._state_file:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._state_file)


async def _ended(*tasks: "asyncio.Future[Any]") -> None:
    """Cancels tasks and waits for their end, whatever it is; not for ever, as a handler may not let itself be cancelled."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=GRACE)
