// A Wardroom agent in TypeScript: it tells how urgent a message is.
//
// The library wardroom-agent, in sdk/agent/typescript, does the session: register, heartbeats, reconnect and resume, answers kept
// until they are acknowledged, no task worked on twice, cancel. As a role of an org chart the agent answers the messages of
// other roles, and with --ask it asks another role when it cannot tell.

import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import { Agent, MessageRefused, Refused } from "wardroom-agent";

const URGENT = new Set(["urgent", "immediately", "asap", "down", "outage", "cannot", "broken", "lost"]);

interface Verdict {
  urgency: string;
  confidence: number;
  toldBy?: string;
}

/** Counts the words that people use when it burns. */
function urgency(text: string): Verdict {
  const hits = (text.toLowerCase().match(/[a-z]+/g) ?? []).filter((word) => URGENT.has(word)).length;
  if (hits === 0) return { urgency: "low", confidence: 0.6 };
  if (hits === 1) return { urgency: "normal", confidence: 0.7 };
  return { urgency: "high", confidence: 0.9 };
}

/** Returns the text of an input or a message. */
function textOf(value: unknown, name: string): string {
  const text = (value as { text?: unknown } | null)?.text;
  if (typeof text !== "string" || text === "") throw new Error(`${name}.text is missing`);
  return text;
}

const { values: options } = parseArgs({
  options: {
    server: { type: "string", default: "http://127.0.0.1:8080" },
    name: { type: "string", default: "urgency-typescript" },
    think: { type: "string", default: "0" }, // seconds to pretend to think about each task
    ask: { type: "boolean", default: false }, // another role, when no word tells how urgent it is
  },
});

const agent = new Agent({
  url: options.server!, name: options.name!, capabilities: ["urgency"], token: process.env.WARDROOM_TOKEN ?? "",
  maxConcurrentTasks: 4, metadata: { model: "keywords", version: "1" },
  onMessage: (message) => urgency(textOf(message.content, "content")),
  handler: async (task) => {
    const text = textOf(task.input, "input");
    await sleep(Number(options.think) * 1000, undefined, { signal: task.signal });
    const verdict = urgency(text);
    if (options.ask && verdict.urgency === "low") {
      try {
        const reply = await task.ask({ text }, { topic: "urgency" });
        return { urgency: (reply.content as Verdict).urgency, confidence: 0.8, toldBy: reply.from };
      } catch (error) {
        if (!(error instanceof MessageRefused)) throw error;
        console.error("nobody to ask:", error.message);
      }
    }
    return verdict;
  },
});
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => agent.stop());

try {
  await agent.run();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error("the server refused this agent:", error.message);
  process.exitCode = 1;
}
