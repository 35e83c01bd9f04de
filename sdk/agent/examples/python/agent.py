#!/usr/bin/env python3
"""A Wardroom agent in Python: it tells how urgent a message is.

The library wardroom_agent, in sdk/agent/python, does the session: register, heartbeats, reconnect and resume, answers kept until
they are acknowledged, no task worked on twice, cancel. As a role of an org chart the agent answers the messages of other roles,
and with --ask it asks another role when it cannot tell.
"""
import argparse
import asyncio
import logging
import os
import re
import signal
import sys

from wardroom_agent import Agent, Message, MessageRefused, Refused, Task

URGENT = {"urgent", "immediately", "asap", "down", "outage", "cannot", "broken", "lost"}


def urgency(text: str) -> dict:
    """Count the words that people use when it burns."""
    hits = sum(word in URGENT for word in re.findall("[a-z]+", text.lower()))
    if hits == 0:
        return {"urgency": "low", "confidence": 0.6}
    if hits == 1:
        return {"urgency": "normal", "confidence": 0.7}
    return {"urgency": "high", "confidence": 0.9}


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--server", default="http://127.0.0.1:8080")
    options.add_argument("--name", default="urgency-python")
    options.add_argument("--think", type=float, default=0, help="seconds to pretend to think about each task")
    options.add_argument("--ask", action="store_true", help="ask another role when no word tells how urgent it is")
    options = options.parse_args()

    async def on_message(message: Message) -> dict:
        return urgency(message.content["text"])

    async def handler(task: Task) -> dict:
        text = task.input.get("text")
        if not text:
            raise ValueError("input.text is missing")
        await asyncio.sleep(options.think)
        verdict = urgency(text)
        if options.ask and verdict["urgency"] == "low":
            try:
                reply = await task.ask({"text": text}, topic="urgency")
                return {"urgency": reply.content["urgency"], "confidence": 0.8, "toldBy": reply.sender}
            except MessageRefused as refusal:
                print("nobody to ask:", refusal, file=sys.stderr)
        return verdict

    agent = Agent(
        options.server, options.name, ["urgency"], handler, token=os.environ.get("WARDROOM_TOKEN", ""), on_message=on_message,
        max_concurrent_tasks=4, metadata={"model": "keywords", "version": "1"},
    )
    for sign in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(sign, agent.stop)
    await agent.run()


if __name__ == "__main__":
    logging.basicConfig()
    try:
        asyncio.run(main())
    except Refused as refusal:
        sys.exit(f"the server refused this agent: {refusal}")
