// A Wardroom agent in TypeScript: it tells how urgent a message is.
//
// Needs Node 20 and the ws package. What the protocol asks of an agent is all here: register, heartbeats,
// reconnect and resume, answers kept until they are acknowledged, no task worked on twice, cancel, answers to the
// messages of other roles, and a graceful end on SIGTERM. The Python example shows how to ask, too.

import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import WebSocket from "ws";

const SUBPROTOCOL = "wardroom.agent.v1";
const PATH = "/api/agents/connect";
const FINAL_CLOSE_CODES = new Set([4400, 4403, 4409]); // refused, disconnected by an operator, resumed elsewhere
const FINAL_ERRORS = new Set(["VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "CONFLICT"]);

interface Task {
  taskId: string;
  executionId: string;
  input: Record<string, unknown>;
  attempt?: number;
}

interface Answer {
  type: "task_result" | "task_error";
  payload: Record<string, unknown> & { attempt: number; retryable?: boolean };
}

interface Work {
  attempt: number; // the highest seen; the answer echoes it
  abort: AbortController;
}

/** What another role of an org chart asks or tells. */
interface Message {
  messageId: string;
  from: string;
  content: any;
  wantsReply: boolean;
}

interface Reply {
  messageId: string;
  content?: unknown; // absent: it only says that the message has arrived
}

type Handler = (task: Task, signal: AbortSignal) => Promise<unknown>;

/** The server does not want this agent; trying again does not help. */
class Refused extends Error {}

class Agent {
  private session?: { agentId: string; token: string };
  private ws?: WebSocket; // registered, or undefined
  private silent = 0; // heartbeats since the server was heard last
  private running = new Map<string, Work>();
  private answers = new Map<string, Answer>(); // until the server acknowledges them
  private recent = new Map<string, Answer>(); // the same, acknowledged: in case a task comes once more
  private considering = new Set<string>(); // ids of messages
  private replies = new Map<string, Reply>(); // by message id, in case a message comes once more
  private stopping = new AbortController();

  constructor(
    private server: string, private name: string, private capabilities: string[],
    private handler: Handler, private onMessage: (message: Message) => Promise<unknown>,
    private token = "", private slots = 4,
  ) {}

  async run(): Promise<void> {
    let delay = 50;
    while (!this.stopping.signal.aborted) {
      try {
        if (await this.connect()) delay = 50; // it was a working session: come back quickly
      } catch (error) {
        if (error instanceof Refused) throw error;
        console.error("connection lost:", (error as Error).message);
      }
      await sleep(delay * (0.5 + Math.random() / 2), undefined, { signal: this.stopping.signal }).catch(() => {});
      delay = Math.min(2 * delay, 5000);
    }
  }

  /** Cancels what runs, tells the server and ends run. */
  stop(): void {
    this.stopping.abort();
    for (const work of this.running.values()) work.abort.abort();
    if (this.ws) this.send(this.ws, "disconnect", { reason: "stopped" });
    this.ws?.close(1000, "stopped");
  }

  /** Runs one session and tells whether it got as far as working. */
  private connect(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
      const url = this.server.replace(/\/$/, "").replace(/^http/, "ws") + PATH;
      // ws itself refuses a server that does not agree to the subprotocol.
      const ws = new WebSocket(url, SUBPROTOCOL, { headers, handshakeTimeout: 10_000, maxPayload: 16 << 20 });
      let heart: NodeJS.Timeout | undefined;
      let failure: Error | undefined;
      const giveUp = setTimeout(() => ws.terminate(), 20_000); // for the registration
      const onStop = () => { if (this.ws !== ws) ws.terminate(); };
      this.stopping.signal.addEventListener("abort", onStop);

      ws.on("open", () => this.send(ws, "register", this.registration()));
      ws.on("message", (data) => {
        this.silent = 0;
        try {
          const { type, id, payload = {} } = JSON.parse(String(data));
          if (type === "registered") {
            clearTimeout(giveUp);
            this.registered(ws, payload);
            heart = setInterval(() => this.beat(ws), payload.config?.heartbeatInterval ?? 10_000);
          } else {
            this.act(type, id, payload);
          }
        } catch (error) {
          failure = error as Error;
          ws.close();
        }
      });
      ws.on("unexpected-response", (_, response) => {
        const status = response.statusCode ?? 0;
        failure = status === 401 || status === 403 ? new Refused(`HTTP ${status}`) : new Error(`HTTP ${status}`);
        ws.terminate();
      });
      ws.on("error", (error) => { failure ??= error; });
      ws.on("close", (code, reason) => {
        clearTimeout(giveUp);
        clearInterval(heart);
        this.stopping.signal.removeEventListener("abort", onStop);
        this.ws = undefined;
        if (FINAL_CLOSE_CODES.has(code)) failure ??= new Refused(`closed with ${code} ${reason}`);
        if (failure instanceof Refused || (failure && !heart)) reject(failure);
        else resolve(heart !== undefined);
      });
    });
  }

  private registration(): object {
    const tasks = [...this.running.keys(), ...this.answers.keys()].sort();
    return {
      name: this.name, capabilities: this.capabilities, metadata: { model: "keywords", version: "1" },
      config: { maxConcurrentTasks: this.slots }, resume: this.session && { ...this.session, tasks },
    };
  }

  private registered(ws: WebSocket, p: { agentId: string; resumeToken: string; resumed: boolean }): void {
    this.session = { agentId: p.agentId, token: p.resumeToken };
    this.ws = ws;
    if (!p.resumed) { // the tasks were given to others; answers are still worth sending
      for (const work of this.running.values()) work.abort.abort();
      this.running.clear();
    }
    for (const answer of this.answers.values()) this.send(ws, answer.type, answer.payload);
  }

  private act(type: string, id: string | undefined, p: any): void {
    if (type === "task") {
      this.take(p, id);
    } else if (type === "task_ack") {
      const answer = this.answers.get(p.taskId);
      if (this.answers.delete(p.taskId) && !answer!.payload.retryable) this.recent.set(p.taskId, answer!);
      if (this.recent.size > 1000) this.recent.delete(this.recent.keys().next().value!);
    } else if (type === "task_cancelled") {
      this.answers.delete(p.taskId);
      this.running.get(p.taskId)?.abort.abort();
      this.running.delete(p.taskId);
    } else if (type === "message") {
      void this.consider(p);
    } else if (type === "error") {
      console.error("error from the server:", p.code, p.message);
      if (p.fatal && FINAL_ERRORS.has(p.code)) throw new Refused(`${p.code}: ${p.message}`);
    }
  }

  /** Starts a task, unless it is known: a server that was restarted may send it again. */
  private take(task: Task, id?: string): void {
    const attempt = task.attempt ?? 0;
    const work = this.running.get(task.taskId);
    if (work) {
      work.attempt = Math.max(work.attempt, attempt);
      return;
    }
    const answer = this.answers.get(task.taskId) ?? this.recent.get(task.taskId);
    if (answer && !(answer.payload.retryable && attempt > answer.payload.attempt)) {
      answer.payload.attempt = Math.max(answer.payload.attempt, attempt);
      if (this.ws) this.send(this.ws, answer.type, answer.payload, id);
      return;
    }
    this.answers.delete(task.taskId); // it failed, and is wanted once more
    void this.work(task, id);
  }

  private async work(task: Task, id?: string): Promise<void> {
    const work: Work = { attempt: task.attempt ?? 0, abort: new AbortController() };
    this.running.set(task.taskId, work);
    const report = { taskId: task.taskId, executionId: task.executionId };
    let answer: Answer;
    try {
      const result = await this.handler(task, work.abort.signal);
      answer = { type: "task_result", payload: { ...report, status: "completed", result, attempt: work.attempt } };
    } catch (error) {
      const detail = { code: "AGENT_ERROR", message: (error as Error).message };
      answer = { type: "task_error", payload: { ...report, error: detail, retryable: false, attempt: work.attempt } };
    }
    if (work.abort.signal.aborted) return; // cancelled: nobody waits for it
    this.running.delete(task.taskId);
    this.answers.set(task.taskId, answer);
    if (this.ws) this.send(this.ws, answer.type, answer.payload, id);
  }

  /** Answers a message of another role, once; one that comes again is answered from memory. */
  private async consider(message: Message): Promise<void> {
    const id = message.messageId;
    if (this.considering.has(id)) return;
    let reply = this.replies.get(id);
    if (!reply) {
      this.considering.add(id);
      try {
        reply = { messageId: id, ...(message.wantsReply && { content: await this.onMessage(message) }) };
      } catch (error) { // no reply: when its time is over, the server asks somebody else
        console.error("no reply to a message:", (error as Error).message);
        return;
      } finally {
        this.considering.delete(id);
      }
      this.replies.set(id, reply);
      if (this.replies.size > 1000) this.replies.delete(this.replies.keys().next().value!);
    }
    if (this.ws) this.send(this.ws, "message_reply", reply); // else the message will come again
  }

  private beat(ws: WebSocket): void {
    if (++this.silent > 3) { // it answers heartbeats, so it is gone
      ws.terminate();
      return;
    }
    const status = this.running.size >= this.slots ? "busy" : "healthy";
    this.send(ws, "heartbeat", { status, activeTasks: this.running.size });
  }

  private send(ws: WebSocket, type: string, payload: object, id?: string): void {
    // A send that fails is followed by "close"; answers are kept and sent again by the next session.
    ws.send(JSON.stringify({ type, id, timestamp: new Date().toISOString(), payload }), () => {});
  }
}

const URGENT = new Set(["urgent", "immediately", "asap", "down", "outage", "cannot", "broken", "lost"]);

/** Counts the words that people use when it burns. */
function urgency(text: string): { urgency: string; confidence: number } {
  const hits = (text.toLowerCase().match(/[a-z]+/g) ?? []).filter((word) => URGENT.has(word)).length;
  if (hits === 0) return { urgency: "low", confidence: 0.6 };
  if (hits === 1) return { urgency: "normal", confidence: 0.7 };
  return { urgency: "high", confidence: 0.9 };
}

const { values: options } = parseArgs({
  options: {
    server: { type: "string", default: "http://127.0.0.1:8080" },
    name: { type: "string", default: "urgency-typescript" },
    think: { type: "string", default: "0" }, // seconds to pretend to think about each task
  },
});

const agent = new Agent(options.server!, options.name!, ["urgency"], async (task, signal) => {
  const text = task.input.text;
  if (typeof text !== "string" || text === "") throw new Error("input.text is missing");
  await sleep(Number(options.think) * 1000, undefined, { signal });
  return urgency(text);
}, async (message) => { // another role asks
  if (typeof message.content?.text !== "string") throw new Error("content.text is missing");
  return urgency(message.content.text);
}, process.env.WARDROOM_TOKEN);
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => agent.stop());

try {
  await agent.run();
} catch (error) {
  console.error("the server refused this agent:", (error as Error).message);
  process.exitCode = 1;
}
