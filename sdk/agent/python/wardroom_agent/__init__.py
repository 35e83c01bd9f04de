"""Agents for Wardroom: a session that reconnects, resumes and answers every task once.

An Agent connects to a server, registers what it can do, and calls a handler for each task. See Agent.
"""
from .agent import Agent, Handler, MessageHandler
from .errors import MessageRefused, Refused, TaskError
from .model import Message, Reply, Task

__all__ = ["Agent", "Handler", "Message", "MessageHandler", "MessageRefused", "Refused", "Reply", "Task", "TaskError"]
