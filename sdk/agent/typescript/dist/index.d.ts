/**
 * Agents for Wardroom: a session that reconnects, resumes and answers every task once.
 *
 * An Agent connects to a server, registers what it can do, and calls a handler for each task. See Agent.
 */
export { Agent } from "./agent.js";
export type { AgentOptions, Handler, Logger, MessageHandler } from "./agent.js";
export { MessageRefused, Refused, TaskError } from "./errors.js";
export type { AskOptions, Message, Reply, Task } from "./model.js";
