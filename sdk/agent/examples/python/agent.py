#!/usr/bin/env python3
"""A Wardroom agent in Python: it tells how urgent a message is.

Needs Python 3.9 and the websockets package, version 10 or later. What the protocol asks of an agent is all
here: register, heartbeats, reconnect and resume, answers kept until they are acknowledged, no task worked
on twice, cancel, and a graceful end on SIGTERM. As a role of an org chart it answers the messages of other
roles, and with --ask it asks another role when it cannot tell.
"""
import argparse
import asyncio
import collections
import contextlib
import inspect
import json
import os
import random
import re
import signal
import sys
from datetime import datetime, timezone

import websockets

SUBPROTOCOL = "wardroom.agent.v1"
PATH = "/api/agents/connect"
FINAL_CLOSE_CODES = {4400, 4403, 4409}  # refused, disconnected by an operator, resumed elsewhere
FINAL_ERRORS = {"VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "CONFLICT"}
URGENT = {"urgent", "immediately", "asap", "down", "outage", "cannot", "broken", "lost"}


def urgency(text):
    """Count the words that people use when it burns."""
    hits = sum(word in URGENT for word in re.findall("[a-z]+", text.lower()))
    if hits == 0:
        return {"urgency": "low", "confidence": 0.6}
    if hits == 1:
        return {"urgency": "normal", "confidence": 0.7}
    return {"urgency": "high", "confidence": 0.9}


class MessageRefused(Exception):
    """A message to another role goes nowhere."""


class Refused(Exception):
    """The server does not want this agent; trying again does not help."""


class Agent:
    def __init__(self, server, name, capabilities, handler, on_message, token="", slots=4):
        self.url = re.sub("^http", "ws", server.rstrip("/")) + PATH
        self.name, self.capabilities, self.handler, self.on_message = name, capabilities, handler, on_message
        self.headers = {"Authorization": "Bearer " + token} if token else {}
        self.slots = asyncio.Semaphore(slots)
        self.slot_count = slots
        self.session = None  # (agentId, resumeToken) of the last session
        self.ws = None  # the connection, while there is one
        self.running = {}  # taskId -> asyncio.Task of the handler
        self.attempts = {}  # taskId -> highest attempt seen; the answer echoes it
        self.answers = {}  # taskId -> (type, payload), until the server acknowledges it
        self.recent = collections.OrderedDict()  # the same, acknowledged: in case a task comes once more
        self.questions = {}  # envelope id -> (payload, future of the reply), until it is there
        self.ask_prefix = f"ask-{random.SystemRandom().getrandbits(64):016x}-"  # ids are never used again
        self.asked = 0
        self.considering = {}  # messageId -> asyncio.Task that answers the message
        self.replies = collections.OrderedDict()  # messageId -> the reply, in case the message comes once more
        self.stopping = asyncio.Event()

    async def run(self):
        delay = 0.05
        stop = asyncio.ensure_future(self.stopping.wait())
        while not stop.done():
            serving = asyncio.ensure_future(self.connect())
            await asyncio.wait({serving, stop}, return_when=asyncio.FIRST_COMPLETED)
            if stop.done():
                await self.leave()
                serving.cancel()
            try:
                if await serving:
                    delay = 0.05  # it was a working session: come back quickly
            except (OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
                status = getattr(getattr(error, "response", error), "status_code", 0)
                if status in (401, 403):
                    raise Refused(f"HTTP {status}") from error
                print("connection lost:", error or type(error).__name__, file=sys.stderr)
            except asyncio.CancelledError:
                break
            await asyncio.wait({stop}, timeout=random.uniform(delay / 2, delay))
            delay = min(2 * delay, 5)

    async def connect(self):
        """Run one session and return whether it got as far as working."""
        # The name of the parameter for headers changed when the library got its new client.
        parameters = inspect.signature(websockets.connect.__init__).parameters
        headers = "additional_headers" if "additional_headers" in parameters else "extra_headers"
        options = {headers: self.headers, "subprotocols": [SUBPROTOCOL], "max_size": 16 << 20}
        async with websockets.connect(self.url, **options) as ws:
            if ws.subprotocol != SUBPROTOCOL:
                raise Refused("the server does not speak " + SUBPROTOCOL)
            resume = None
            if self.session:
                open_tasks = sorted({*self.running, *self.answers})
                resume = {"agentId": self.session[0], "token": self.session[1], "tasks": open_tasks}
            await self.send(ws, "register", {
                "name": self.name, "capabilities": self.capabilities,
                "metadata": {"model": "keywords", "version": "1"},
                "config": {"maxConcurrentTasks": self.slot_count}, **({"resume": resume} if resume else {}),
            })
            frame = json.loads(await asyncio.wait_for(ws.recv(), 10))
            if frame["type"] != "registered":
                self.refused(frame)
                return False
            payload = frame["payload"]
            self.session = (payload["agentId"], payload["resumeToken"])
            if not payload["resumed"]:  # the tasks were given to others; answers are still worth sending
                for task_id in list(self.running):
                    self.drop(task_id)
                for considering in self.considering.values():
                    considering.cancel()
            interval = payload.get("config", {}).get("heartbeatInterval", 10000) / 1000
            self.ws = ws
            heart = asyncio.ensure_future(self.beat(ws, interval))
            try:
                for task_id in list(self.answers):
                    await self.deliver(task_id)
                for ask_id, (question, _) in list(self.questions.items()):
                    await self.send(ws, "message", question, ask_id)
                async for text in ws:
                    await self.act(json.loads(text))
            except websockets.ConnectionClosed:
                pass  # the close code below tells
            finally:
                self.ws = None
                heart.cancel()
            if ws.close_code in FINAL_CLOSE_CODES:
                raise Refused(f"closed with {ws.close_code} {ws.close_reason}")
            return True

    async def act(self, frame):
        kind, payload = frame["type"], frame.get("payload") or {}
        if kind == "task":
            await self.take(payload, frame.get("id"))
        elif kind == "task_ack":
            answer = self.answers.pop(payload["taskId"], None)
            if answer and not answer[1].get("retryable"):
                self.recent[payload["taskId"]] = answer
                while len(self.recent) > 1000:
                    self.recent.popitem(last=False)
        elif kind == "task_cancelled":
            self.drop(payload["taskId"])
        elif kind == "message":
            await self.asked_by(payload)
        elif kind == "message_reply" and frame.get("id") in self.questions:
            self.settle(frame["id"], payload)
        elif kind == "error" and frame.get("id") in self.questions:
            self.settle(frame["id"], MessageRefused(f"{payload.get('code')}: {payload.get('message')}"))
        elif kind == "error":
            self.refused(frame)

    async def ask(self, task, content, topic="", kind="question"):
        """Ask another role, as the org chart routes it, and return its reply: {messageId, from, content}."""
        self.asked += 1
        ask_id, reply = self.ask_prefix + str(self.asked), asyncio.get_running_loop().create_future()
        question = {"taskId": task["taskId"], "messageType": kind, "topic": topic, "content": content}
        self.questions[ask_id] = (question, reply)  # each new session sends it again, until there is a reply
        try:
            if self.ws:
                with contextlib.suppress(websockets.ConnectionClosed):
                    await self.send(self.ws, "message", question, ask_id)
            return await reply
        finally:
            self.questions.pop(ask_id, None)

    def settle(self, ask_id, reply):
        """End a question with its reply or its refusal."""
        future = self.questions.pop(ask_id)[1]
        if future.done():
            return
        if isinstance(reply, Exception):
            future.set_exception(reply)
        else:
            future.set_result(reply)

    async def asked_by(self, message):
        """Answer a message of another role, once; one that comes again is answered from memory."""
        message_id = message["messageId"]
        if message_id in self.replies:
            await self.reply(message_id)
        elif message_id not in self.considering:
            self.considering[message_id] = asyncio.ensure_future(self.consider(message))

    async def consider(self, message):
        message_id = message["messageId"]
        try:
            reply = {"messageId": message_id}
            if message.get("wantsReply"):
                reply["content"] = await self.on_message(message)
            self.replies[message_id] = reply  # without content it only says that the message has arrived
            while len(self.replies) > 1000:
                self.replies.popitem(last=False)
            await self.reply(message_id)
        except Exception as error:  # no reply: when its time is over, the server asks somebody else
            print("no reply to a message:", error or type(error).__name__, file=sys.stderr)
        finally:
            self.considering.pop(message_id, None)

    async def reply(self, message_id):
        if self.ws:
            with contextlib.suppress(websockets.ConnectionClosed):  # the message will come again
                await self.send(self.ws, "message_reply", self.replies[message_id])

    async def take(self, task, frame_id):
        """Start a task, unless it is known: a server that was restarted may send it again."""
        task_id, attempt = task["taskId"], task.get("attempt", 0)
        answer = self.answers.get(task_id)
        if answer and answer[1].get("retryable") and attempt > answer[1]["attempt"]:
            del self.answers[task_id]  # it failed, and is wanted once more
        elif answer is None and task_id in self.recent:
            self.answers[task_id] = self.recent.pop(task_id)
        self.attempts[task_id] = max(attempt, self.attempts.get(task_id, 0))
        if task_id in self.answers:
            await self.deliver(task_id)
        elif task_id not in self.running:
            self.running[task_id] = asyncio.ensure_future(self.work(task, frame_id))

    def drop(self, task_id):
        """Forget a task that is not wanted any more."""
        self.answers.pop(task_id, None)
        self.attempts.pop(task_id, None)
        if task_id in self.running:
            self.running.pop(task_id).cancel()

    async def work(self, task, frame_id):
        report = {"taskId": task["taskId"], "executionId": task["executionId"]}
        async with self.slots:
            try:
                answer = ("task_result", {**report, "status": "completed", "result": await self.handler(task)})
            except Exception as error:  # whatever goes wrong in a handler is the task's error
                detail = {"code": "AGENT_ERROR", "message": str(error) or type(error).__name__}
                answer = ("task_error", {**report, "error": detail, "retryable": False})
        self.running.pop(task["taskId"], None)
        self.answers[task["taskId"]] = answer
        await self.deliver(task["taskId"], frame_id)

    async def deliver(self, task_id, frame_id=None):
        kind, payload = self.answers[task_id]
        payload["attempt"] = self.attempts.pop(task_id, payload.get("attempt", 0))
        if self.ws:
            with contextlib.suppress(websockets.ConnectionClosed):  # it is kept, and sent by the next session
                await self.send(self.ws, kind, payload, frame_id)

    async def beat(self, ws, interval):
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                await asyncio.sleep(interval)
                status = "busy" if len(self.running) >= self.slot_count else "healthy"
                await self.send(ws, "heartbeat", {"status": status, "activeTasks": len(self.running)})

    async def leave(self):
        for work in [*self.running.values(), *self.considering.values()]:
            work.cancel()
        if self.ws:
            with contextlib.suppress(websockets.ConnectionClosed):
                await self.send(self.ws, "disconnect", {"reason": "stopped"})
                await self.ws.close()

    @staticmethod
    async def send(ws, kind, payload, frame_id=None):
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        frame = {"type": kind, "timestamp": now, "payload": payload}
        await ws.send(json.dumps({**frame, "id": frame_id} if frame_id else frame))

    @staticmethod
    def refused(frame):
        error = frame.get("payload") or {}
        print("error from the server:", error.get("code"), error.get("message"), file=sys.stderr)
        if error.get("fatal") and error.get("code") in FINAL_ERRORS:
            raise Refused(f"{error['code']}: {error['message']}")


async def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--server", default="http://127.0.0.1:8080")
    options.add_argument("--name", default="urgency-python")
    options.add_argument("--think", type=float, default=0, help="seconds to pretend to think about each task")
    options.add_argument("--ask", action="store_true", help="ask another role when no word tells how urgent it is")
    options = options.parse_args()

    async def on_message(message):
        return urgency(message["content"]["text"])

    async def handler(task):
        text = task["input"].get("text")
        if not text:
            raise ValueError("input.text is missing")
        await asyncio.sleep(options.think)
        verdict = urgency(text)
        if options.ask and verdict["urgency"] == "low":
            try:
                reply = await agent.ask(task, {"text": text}, topic="urgency")
                return {"urgency": reply["content"]["urgency"], "confidence": 0.8, "toldBy": reply["from"]}
            except MessageRefused as refusal:
                print("nobody to ask:", refusal, file=sys.stderr)
        return verdict

    agent = Agent(options.server, options.name, ["urgency"], handler, on_message, os.environ.get("WARDROOM_TOKEN", ""))
    for sign in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(sign, agent.stopping.set)
    await agent.run()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except Refused as refusal:
        sys.exit(f"the server refused this agent: {refusal}")
