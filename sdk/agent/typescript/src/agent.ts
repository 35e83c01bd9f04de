import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { setTimeout as sleep } from "node:timers/promises";

import WebSocket from "ws";

import { Clock, LONGEST } from "./clock.js";
import { MessageRefused, Refused, TaskError } from "./errors.js";
import { parse, stringify } from "./exact.js";
import type { AskOptions, Message, Reply, Task } from "./model.js";
import { Recent } from "./recent.js";

const SUBPROTOCOL = "wardroom.agent.v1";
const PATH = "/api/agents/connect";
const FINAL_CLOSE_CODES = new Set([4400, 4403, 4409]); // refused, disconnected by an operator, resumed elsewhere
const FLOODED = 4429; // too many frames for too long
const COMES_AGAIN = new Set([1009, 1013]); // a frame was too large, or the server cannot go on: the next session may end so too
const FINAL_ERRORS = new Set(["VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "CONFLICT"]);
const FIRST_DELAY = 50; // milliseconds between attempts to connect
const LAST_DELAY = 5000;
const LONGEST_WAIT = 60_000; // that a refusal may ask for
const CONNECT_TIME = 10_000; // for a connection, and for a registration
const SILENCE = 3; // heartbeats without a word of the server: it is gone
const MAX_FRAME = 16 << 20;
const MAX_MESSAGE = 4096; // characters of an error
const SHORT_MESSAGE = 1024; // of one that is too large to be sent
const PROGRESS_RATE = 40; // frames of progress a second, well below what a server takes by default
const RATE_SHARE = 0.4; // of what a server takes that says so
const MAX_UNSENT = 64 << 10; // bytes that wait in the connection, beyond which progress is dropped
const FRESH = 10_000; // how long a server that was just started may not know a task
const UNKNOWN_PAUSE = 1000; // before it is asked again
const TOLD_FOR = 60_000; // in which what needs no reply may be sent again
const MOST_TOLD = 64; // that may be, as the server takes them at once
const LIMITED_PAUSE = 2000; // before what was dropped for its rate is asked again; it doubles with each try
const LIMITED_TRIES = 5;
const GRACE = 5000; // for handlers that were aborted to end

/** Is called once for a task, however often the server sends it. What it returns, as JSON, is the result. */
export type Handler = (task: Task) => Promise<unknown> | unknown;

/** Answers what other roles ask. What it returns, as JSON, is the reply. */
export type MessageHandler = (message: Message) => Promise<unknown> | unknown;

/** Takes what is worth a line: lost connections and errors, never one line for a task. */
export type Logger = (text: string) => void;

/** What an Agent is made of. */
export interface AgentOptions {
  /** Of the server, such as http://127.0.0.1:8080. */
  url: string;
  name: string;
  /** At least one. */
  capabilities: readonly string[];
  handler: Handler;
  /** Without it, messages of other roles that want a reply get none, and the server asks the next role. */
  onMessage?: MessageHandler;
  /** A credential, sent as a bearer token. */
  token?: string;
  /** 1 if it is left out. */
  maxConcurrentTasks?: number;
  region?: string;
  metadata?: Readonly<Record<string, unknown>>;
  /** Keeps the session over a restart of the process. It holds a credential and has the mode 0600. */
  stateFile?: string;
  /** Authorities (ca) or a client certificate (cert, key) of your own, for https. */
  tls?: Pick<ConnectionOptions, "ca" | "cert" | "key" | "passphrase" | "servername">;
  /** console.warn if it is left out. */
  log?: Logger;
}

interface Answer {
  type: "task_result" | "task_error";
  payload: { taskId: string; attempt: number; retryable?: boolean } & Record<string, unknown>;
}

interface Work {
  attempt: number; // the highest seen; the answer echoes it
  abort: AbortController;
  clock: Clock;
  telling: Promise<unknown>; // what it told and what waits for its turn
}

/** A message to another role. */
interface Said {
  payload: { taskId: string };
  sent: number; // the last time
  limited: number; // how often it was refused for the rate
  timer?: NodeJS.Timeout; // of the next time, while one is planned
}

interface Question extends Said {
  settle: (reply: Reply) => void;
  refuse: (error: Error) => void;
}

/** A message that needs no reply. */
interface Told extends Said {
  began: number;
}

/** What the server sends. */
type Frame = { type?: string; id?: string; payload?: any };

/** A refusal that passes. wait is for how many milliseconds the server wants the agent to stay away; 0: it did not say. */
class Busy extends Error {
  readonly wait: number;

  constructor(status: number, retryAfter: string | undefined) {
    super(`HTTP ${status}`);
    this.wait = /^[0-9]{1,9}$/.test(retryAfter ?? "") ? Math.min(Number(retryAfter) * 1000, LONGEST_WAIT) : 0;
  }
}

/** An agent, which runs once. */
export class Agent {
  readonly #options: Required<Pick<AgentOptions, "name" | "capabilities" | "handler" | "maxConcurrentTasks" | "log">> & AgentOptions;
  readonly #url: string;
  #session: { agentId: string; token: string } | undefined;
  #ws: WebSocket | undefined; // the registered connection
  #limit = MAX_FRAME; // bytes of a frame that the server takes
  #attached = 0; // when the session began
  #rate = PROGRESS_RATE;
  #progressAt = 0; // the second in which progress was sent last
  #progressSent = 0; // frames in that second
  #toldUntil = 0; // when what was told up to now would have been sent, evenly spread
  #line: Promise<unknown> = Promise.resolve(); // of what waits to be told
  #inLine = 0; // how much
  #ran = false;
  #draining = false;
  readonly #stopping = new AbortController();
  readonly #running = new Map<string, Work>(); // by task id, those that wait for a slot included
  readonly #waiting: (() => void)[] = []; // for a slot
  #free: number;
  readonly #handlers = new Set<Promise<void>>();
  readonly #answers = new Map<string, Answer>(); // until the server acknowledges them
  readonly #recent = new Recent<Answer>(); // acknowledged
  readonly #questions = new Map<string, Question>(); // by envelope id, until there is a reply
  readonly #told = new Recent<Told>(MOST_TOLD); // by envelope id
  readonly #askPrefix = `ask-${randomBytes(8).toString("hex")}-`; // ids are never used again
  #asked = 0;
  readonly #considering = new Set<string>(); // message ids
  readonly #replies = new Recent<object>(); // by message id
  #idle: (() => void)[] = []; // called once nothing runs, and everything is acknowledged

  /** Throws a TypeError for options that cannot be. */
  constructor(options: AgentOptions) {
    if (!/^(http|ws)s?:\/\/./.test(options.url)) throw new TypeError(`url: ${options.url} is no address such as http://127.0.0.1:8080`);
    if (options.name.trim() === "" || options.capabilities.length === 0) {
      throw new TypeError("an agent needs a name and at least one capability");
    }
    if (typeof options.capabilities === "string") throw new TypeError("capabilities: a list is needed, not one text");
    const slots = options.maxConcurrentTasks ?? 1;
    if (!Number.isInteger(slots) || slots < 1) throw new TypeError("maxConcurrentTasks: must be a whole number of at least 1");
    this.#url = options.url.replace(/\/+$/, "").replace(/^http/, "ws") + PATH;
    this.#options = { ...options, maxConcurrentTasks: slots, log: options.log ?? ((text) => console.warn("wardroom-agent:", text)) };
    this.#free = slots;
  }

  /** Whether it is registered at a server now. */
  get connected(): boolean {
    return this.#ws !== undefined;
  }

  /** Connects, reconnects and resumes until stop, the end of drain, or a refusal, with which it rejects as Refused. */
  async run(): Promise<void> {
    if (this.#ran) throw new Error("run was called before");
    this.#ran = true;
    this.#loadState();
    let delay = FIRST_DELAY;
    try {
      while (!this.#stopping.signal.aborted) {
        let flooded = false;
        let asked = 0; // milliseconds
        try {
          const end = await this.#connect();
          flooded = end === "flooded"; // the server wants to be left alone for a while
          if (end === "useful") delay = FIRST_DELAY; // come back quickly
        } catch (error) {
          if (error instanceof Refused) throw error;
          if (error instanceof Busy) asked = error.wait;
          this.#options.log(`connection lost: ${textOf(error)}`);
        }
        if (this.#stopping.signal.aborted) break;
        await sleep(asked + (flooded ? LAST_DELAY : delay * (0.5 + Math.random() / 2)), undefined, { signal: this.#stopping.signal }).catch(() => {});
        delay = Math.min(2 * delay, LAST_DELAY);
      }
    } finally {
      this.#stopping.abort();
      for (const work of this.#running.values()) work.abort.abort(new Error("the agent stops"));
      for (const go of this.#waiting.splice(0)) go();
      await Promise.race([Promise.allSettled(this.#handlers), sleep(GRACE, undefined, { ref: false })]);
    }
  }

  /** Ends run: what is being worked on is aborted and goes to other agents. */
  stop(): void {
    if (!this.#stopping.signal.aborted) this.#stopping.abort();
  }

  /** Takes no more tasks, finishes those that run, waits until their answers are stored, and ends run. */
  async drain(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#draining = true;
    this.#beat();
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
      this.#stopping.signal.addEventListener("abort", () => resolve(), { once: true });
      this.#noteIdle();
    });
    this.stop();
  }

  /**
   * Runs one session and returns how it ended: it was useful if a frame came after the registration, so that the server works, and
   * it did not end in a way that comes again.
   */
  #connect(): Promise<"useful" | "useless" | "flooded"> {
    return new Promise((resolve, reject) => {
      const headers = this.#options.token ? { Authorization: `Bearer ${this.#options.token}` } : {};
      // ws itself refuses a server that does not agree to the subprotocol.
      const ws = new WebSocket(this.#url, SUBPROTOCOL, {
        ...this.#options.tls, headers, handshakeTimeout: CONNECT_TIME, maxPayload: MAX_FRAME, perMessageDeflate: false,
      });
      let heart: NodeJS.Timeout | undefined;
      let failure: Error | undefined;
      let heard = 0; // when the server was heard last
      let useful = false;
      const late = setTimeout(() => {
        failure ??= new Error("the server did not register the agent in time");
        ws.terminate();
      }, 2 * CONNECT_TIME);
      const leave = () => {
        if (this.#ws !== ws) return ws.terminate();
        this.#send("disconnect", { reason: this.#draining ? "drained" : "stopped" });
        ws.close(1000);
        setTimeout(() => ws.terminate(), 1000).unref();
      };
      this.#stopping.signal.addEventListener("abort", leave, { once: true });
      const pace = (interval: number) => {
        clearInterval(heart);
        heart = setInterval(() => {
          if (performance.now() - heard > SILENCE * interval) { // it answers heartbeats, so it is gone
            failure ??= new Error("nothing was heard of the server");
            ws.terminate();
            return;
          }
          this.#beat();
        }, Math.min(interval, LONGEST));
      };

      ws.on("open", () => ws.send(frameOf("register", this.#registration()), () => {}));
      ws.on("message", (data) => {
        heard = performance.now();
        try {
          const frame = parse(String(data)) as Frame;
          if (frame.type === "registered" && !heart) {
            clearTimeout(late);
            pace(Number(frame.payload?.config?.heartbeatInterval) || 10_000);
            this.#registered(ws, frame.payload);
          } else {
            useful ||= heart !== undefined;
            const interval = frame.type === "config_update" ? Number(frame.payload?.config?.heartbeatInterval) : 0;
            if (heart && interval > 0) pace(interval);
            this.#act(frame);
          }
        } catch (error) {
          failure ??= error as Error;
          ws.close();
          setTimeout(() => ws.terminate(), 1000).unref();
        }
      });
      ws.on("unexpected-response", (_request, response) => {
        const status = response.statusCode ?? 0;
        failure = status === 401 || status === 403 ? new Refused(`HTTP ${status}`) : new Busy(status, response.headers["retry-after"]);
        response.destroy();
        ws.terminate();
      });
      ws.on("error", (error) => { failure ??= error; });
      ws.on("close", (code, reason) => {
        clearTimeout(late);
        clearInterval(heart);
        this.#stopping.signal.removeEventListener("abort", leave);
        if (this.#ws === ws) this.#ws = undefined;
        if (FINAL_CLOSE_CODES.has(code)) {
          failure = new Refused(`closed with ${code} ${String(reason)}`);
        }
        if (failure instanceof Refused || (failure && !heart && !this.#stopping.signal.aborted)) return reject(failure);
        if (failure && !this.#stopping.signal.aborted) this.#options.log(`connection lost: ${textOf(failure)}`);
        resolve(code === FLOODED ? "flooded" : useful && !COMES_AGAIN.has(code) ? "useful" : "useless");
      });
    });
  }

  #registration(): object {
    const o = this.#options;
    return {
      name: o.name, capabilities: o.capabilities, config: { maxConcurrentTasks: o.maxConcurrentTasks },
      ...(o.region && { region: o.region }), ...(o.metadata && { metadata: o.metadata }),
      ...(this.#session && {
        resume: { ...this.#session, tasks: [...new Set([...this.#running.keys(), ...this.#answers.keys()])].sort() },
      }),
    };
  }

  /** Begins a session. */
  #registered(ws: WebSocket, p: { agentId: string; resumeToken: string; resumed?: boolean; config?: { maxMessageBytes?: number; messagesPerSecond?: number } }): void {
    this.#session = { agentId: p.agentId, token: p.resumeToken };
    this.#saveState();
    if (!p.resumed) { // the tasks were given to others; answers are still worth sending
      for (const taskId of [...this.#running.keys()]) this.#drop(taskId);
      this.#considering.clear();
    }
    this.#limit = p.config?.maxMessageBytes || MAX_FRAME;
    this.#rate = rateOf(p.config?.messagesPerSecond) ?? PROGRESS_RATE;
    this.#attached = performance.now();
    this.#ws = ws;
    if (p.resumed) { // before the answers: messages are taken from tasks that go on only
      for (const [id, told] of this.#told.entries()) if (this.#worthSaying(told)) this.#say(id, told);
    }
    for (const answer of this.#answers.values()) this.#deliver(answer);
    for (const [id, question] of this.#questions) {
      const problem = this.#unsendable("message", question.payload); // the server took more when it was asked
      if (problem) question.refuse(new MessageRefused("VALIDATION_ERROR", `content: the message ${problem}`));
      else this.#say(id, question);
    }
    if (this.#draining) this.#beat();
  }

  #act(frame: Frame): void {
    const p = frame.payload ?? {};
    const question = frame.id === undefined ? undefined : this.#questions.get(frame.id);
    switch (frame.type) {
      case "task":
        this.#take(p, frame.id);
        break;
      case "task_ack": {
        const answer = this.#answers.get(p.taskId);
        this.#answers.delete(p.taskId);
        if (answer && !answer.payload.retryable) this.#recent.add(p.taskId, answer, sizeOf(answer.payload));
        this.#noteIdle();
        break;
      }
      case "task_cancelled":
        this.#drop(p.taskId);
        break;
      case "message":
        void this.#hear(p);
        break;
      case "config_update":
        this.#limit = p.config?.maxMessageBytes || this.#limit;
        this.#rate = rateOf(p.config?.messagesPerSecond) ?? this.#rate;
        break;
      case "message_reply":
        question?.settle({ messageId: p.messageId ?? "", from: p.from ?? "", content: p.content });
        break;
      case "error":
        if (this.#saidRefused(p, frame.id)) break;
        if (question) {
          question.refuse(new MessageRefused(p.code ?? "", p.message ?? ""));
          break;
        }
        this.#options.log(`error from the server: ${p.code} ${p.message}`);
        if (p.fatal && FINAL_ERRORS.has(p.code)) {
          throw new Refused(`${p.code}: ${p.message ?? ""}`);
        }
        break;
    }
  }

  /** Sends what was refused again where that may help, and reports whether it does so with the message that the error names. */
  #saidRefused(p: Frame["payload"], id = ""): boolean {
    const said: Said | undefined = this.#questions.get(id) ?? this.#told.get(id);
    const limited = p.code === "RATE_LIMITED";
    if (limited) { // it names one of the frames that are dropped in a second: other messages may be gone too
      for (const [other, message] of [...this.#questions, ...this.#told.entries()]) {
        if (message !== said && performance.now() - message.sent < LIMITED_PAUSE) this.#sayLater(other, message, LIMITED_PAUSE);
      }
    }
    if (said && limited && said.limited < LIMITED_TRIES) {
      this.#sayLater(id, said, LIMITED_PAUSE * 2 ** said.limited++);
      return true;
    }
    if (said && p.code === "NOT_FOUND" && performance.now() - this.#attached < FRESH) {
      this.#sayLater(id, said, UNKNOWN_PAUSE);
      return true;
    }
    return false;
  }

  /** Starts a task, unless it is known: a server that was restarted may send it again. */
  #take(p: Frame["payload"], frameId?: string): void {
    const taskId: string = p.taskId;
    const attempt: number = p.attempt ?? 0;
    const work = this.#running.get(taskId);
    if (work) {
      work.attempt = Math.max(work.attempt, attempt);
      return;
    }
    const answer = this.#answers.get(taskId) ?? this.#recent.get(taskId);
    if (answer && !(answer.payload.retryable && attempt > answer.payload.attempt)) {
      answer.payload.attempt = Math.max(answer.payload.attempt, attempt);
      this.#recent.delete(taskId);
      this.#answers.set(taskId, answer);
      this.#deliver(answer, frameId);
      return;
    }
    this.#answers.delete(taskId); // it failed, and is wanted once more
    if (answer) this.#forgetTold(taskId);
    const handler = this.#work(p, taskId, attempt, frameId).finally(() => this.#handlers.delete(handler));
    this.#handlers.add(handler);
  }

  /** Sends an answer once more. One for which the server took more, when it was made, becomes an error that fits. */
  #deliver(answer: Answer, frameId?: string): void {
    const problem = this.#unsendable(answer.type, answer.payload);
    if (problem) {
      const { taskId, executionId, attempt, error, retryable = false } = answer.payload;
      const { code, message } = (error ?? { code: "RESULT_TOO_LARGE", message: `the result ${problem}` }) as { code: string; message: string };
      answer.type = "task_error";
      answer.payload = { taskId, executionId, attempt, error: { code, message: message.slice(0, SHORT_MESSAGE) }, retryable };
    }
    this.#send(answer.type, answer.payload, frameId);
  }

  /** Forgets a task that is not wanted any more. */
  #drop(taskId: string): void {
    this.#answers.delete(taskId);
    this.#forgetTold(taskId);
    const work = this.#running.get(taskId);
    this.#running.delete(taskId);
    work?.abort.abort(new Error("the task was cancelled"));
    this.#noteIdle();
  }

  async #work(p: Frame["payload"], taskId: string, attempt: number, frameId?: string): Promise<void> {
    const work: Work = { attempt, abort: new AbortController(), clock: new Clock(p.timeout ?? 0), telling: Promise.resolve() };
    this.#running.set(taskId, work);
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free--;
    let answer: Answer | undefined;
    if (!work.abort.signal.aborted) answer = await this.#handle(p, taskId, work);
    await work.telling;
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
    if (!answer || this.#running.get(taskId) !== work) return; // dropped meanwhile
    this.#running.delete(taskId);
    if (!this.#stopping.signal.aborted) {
      answer.payload.attempt = work.attempt;
      this.#answers.set(taskId, answer);
      this.#send(answer.type, answer.payload, frameId); // without a connection the next session does it
    }
    this.#noteIdle();
  }

  /** Calls the handler and makes an answer of what comes of it. */
  async #handle(p: Frame["payload"], taskId: string, work: Work): Promise<Answer> {
    const report = { taskId, executionId: p.executionId ?? "", attempt: work.attempt };
    const failed = (code: string, message: string, retryable: boolean, details?: object): Answer => {
      const error = { code, message: message.slice(0, MAX_MESSAGE), ...(details && { details }) };
      return { type: "task_error", payload: { ...report, error, retryable } };
    };
    const over = new Promise<"over">((resolve) => work.clock.start(() => resolve("over")));
    const task = this.#taskOf(p, taskId, work);
    try {
      const outcome = await Promise.race([(async () => ({ result: await this.#options.handler(task) }))(), over]);
      if (outcome === "over") {
        work.abort.abort(new Error("the task's time is over"));
        return failed("TIMEOUT", "the task's time was over", true);
      }
      const payload = { ...report, status: "completed", result: outcome.result ?? null };
      const problem = this.#unsendable("task_result", payload);
      return problem ? failed("AGENT_ERROR", `the result ${problem}`, false) : { type: "task_result", payload };
    } catch (error) {
      if (!(error instanceof TaskError)) return failed("AGENT_ERROR", textOf(error), false);
      const answer = failed(error.code, error.message, error.retryable, error.details);
      return this.#unsendable(answer.type, answer.payload) ? failed(error.code, error.message, error.retryable) : answer;
    } finally {
      work.clock.stop();
    }
  }

  /** Says why a frame cannot be sent, or nothing. */
  #unsendable(type: string, payload: object): string {
    let size: number;
    try {
      size = Buffer.byteLength(frameOf(type, payload));
    } catch (error) {
      return `is not JSON: ${textOf(error)}`;
    }
    return size + 1024 > this.#limit ? `is ${size} bytes long; the server takes ${this.#limit}` : "";
  }

  #taskOf(p: Frame["payload"], taskId: string, work: Work): Task {
    return {
      taskId, executionId: p.executionId ?? "", patternName: p.patternName ?? "", patternVersion: p.patternVersion ?? "",
      input: p.input, timeout: p.timeout ?? 0, priority: p.priority ?? "normal", attempt: work.attempt, capability: p.capability ?? "",
      role: p.role ?? "", step: p.step ?? "", config: p.config ?? {}, context: p.context ?? {}, traceparent: p.traceparent ?? "",
      signal: work.abort.signal,
      progress: (shown) => this.#progress({ taskId, ...shown }),
      ask: (content, options = {}) => this.#ask(taskId, content, options, work),
      tell: (content, options = {}) => {
        const [payload, id] = this.#question(taskId, content, { kind: "feedback", ...options });
        this.#tell(id, payload, work);
      },
    };
  }

  /** Says what needs no reply in its turn: a second's worth at once, then evenly, so that the server drops none. */
  #tell(id: string, payload: { taskId: string }, work: Work): void {
    const { signal } = work.abort;
    const wait = () => Math.max(this.#toldUntil - performance.now(), 0) + 1000 / this.#rate - 1000;
    const say = () => {
      const told: Told = { payload, sent: 0, limited: 0, began: performance.now() };
      this.#toldUntil = Math.max(this.#toldUntil, told.began) + 1000 / this.#rate;
      this.#told.add(id, told, sizeOf(payload));
      this.#say(id, told);
    };
    if (this.#inLine === 0 && wait() <= 0) return say();
    this.#inLine++;
    work.telling = this.#line = this.#line
      .then(() => sleep(wait(), undefined, { signal }))
      .then(say, () => {}) // who leaves the line takes no turn
      .finally(() => this.#inLine--);
  }

  /** Whether what was told may be sent once more, as it may have been on its way when the connection broke. */
  #worthSaying({ payload, began }: Told): boolean {
    return (this.#running.has(payload.taskId) || this.#answers.has(payload.taskId)) && performance.now() - began <= TOLD_FOR &&
      !this.#unsendable("message", payload);
  }

  /** Forgets what was told of a task, before the task ends without an answer or begins anew. */
  #forgetTold(taskId: string): void {
    for (const [id, told] of this.#told.entries()) if (told.payload.taskId === taskId) this.#told.delete(id);
  }

  #question(taskId: string, content: unknown, { kind, topic, to }: AskOptions): [payload: { taskId: string }, id: string] {
    const payload = { taskId, messageType: kind, ...(topic && { topic }), ...(to && { to }), content: content ?? null };
    const problem = this.#unsendable("message", payload); // it would be sent again by each session, and end it
    if (problem) throw new MessageRefused("VALIDATION_ERROR", `content: the message ${problem}`);
    return [payload, this.#askPrefix + String(++this.#asked)];
  }

  async #ask(taskId: string, content: unknown, options: AskOptions, { abort: { signal }, clock }: Work): Promise<Reply> {
    signal.throwIfAborted();
    const [payload, id] = this.#question(taskId, content, { kind: "question", ...options });
    let aborted = () => {};
    clock.pause();
    try {
      return await new Promise<Reply>((settle, refuse) => {
        aborted = () => refuse(signal.reason as Error);
        signal.addEventListener("abort", aborted);
        const question: Question = { payload, settle, refuse, sent: 0, limited: 0 };
        this.#questions.set(id, question); // each new session sends it again, until there is a reply
        this.#say(id, question);
      });
    } finally {
      clearTimeout(this.#questions.get(id)?.timer);
      clock.resume();
      signal.removeEventListener("abort", aborted);
      this.#questions.delete(id);
    }
  }

  #say(id: string, said: Said): void {
    said.sent = performance.now();
    this.#send("message", said.payload, id);
  }

  /** Sends a message once more after a pause. One that is about to be sent needs no second word. */
  #sayLater(id: string, said: Said, pause: number): void {
    said.timer ??= setTimeout(() => {
      delete said.timer;
      const told = this.#told.get(id);
      if (!this.#questions.has(id) && (!told || !this.#running.has(told.payload.taskId) || performance.now() - told.began > TOLD_FOR)) return;
      this.#say(id, said);
    }, pause).unref();
  }

  /** Answers a message of another role, once; one that comes again is answered from memory. */
  async #hear(p: Frame["payload"]): Promise<void> {
    const id: string = p.messageId;
    const known = this.#replies.get(id);
    if (known) {
      const problem = this.#unsendable("message_reply", known); // the server took more when it was given
      if (problem) return this.#options.log(`no reply to a message: it ${problem}`);
      return this.#send("message_reply", known);
    }
    if (this.#considering.has(id)) return;
    this.#considering.add(id);
    const message: Message = {
      messageId: id, executionId: p.executionId ?? "", taskId: p.taskId ?? "", from: p.from ?? "", kind: p.messageType ?? "",
      topic: p.topic ?? "", content: p.content, wantsReply: p.wantsReply ?? false,
    };
    try {
      const onMessage = this.#options.onMessage;
      if (!onMessage && message.wantsReply) return;
      const content = onMessage ? await onMessage(message) : undefined;
      const reply = { messageId: id, ...(message.wantsReply && { content: content ?? null }) }; // else: it has arrived
      const problem = this.#unsendable("message_reply", reply);
      if (problem) throw new Error(`it ${problem}`);
      this.#replies.add(id, reply, sizeOf(reply));
      this.#send("message_reply", reply); // without a connection the message will come again
    } catch (error) { // no reply: when its time is over, the server asks somebody else
      this.#options.log(`no reply to a message: ${textOf(error)}`);
    } finally {
      this.#considering.delete(id);
    }
  }

  #beat(): void {
    const active = this.#running.size;
    const status = this.#draining ? "draining" : active >= this.#options.maxConcurrentTasks ? "busy" : "healthy";
    this.#send("heartbeat", { status, activeTasks: active });
  }

  /** Sends a frame if there is a connection. What must arrive is kept elsewhere, and sent by the next session. */
  #send(type: string, payload: object, id?: string): void {
    this.#ws?.send(frameOf(type, payload, id), () => {}); // a send that fails is followed by "close"
  }

  /** Sends progress, unless much waits already, or the agent has sent too many of late. */
  #progress(payload: object): void {
    if (!this.#ws || this.#ws.bufferedAmount > MAX_UNSENT) return;
    if ("text" in payload && payload.text === "") return; // the server takes a frame that shows nothing for a bad one
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#progressAt) [this.#progressAt, this.#progressSent] = [second, 0];
    if (this.#progressSent >= this.#rate || this.#unsendable("task_progress", payload)) return;
    this.#progressSent++;
    this.#send("task_progress", payload);
  }

  #noteIdle(): void {
    if (this.#running.size === 0 && this.#answers.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #loadState(): void {
    if (!this.#options.stateFile) return;
    try {
      const state = JSON.parse(readFileSync(this.#options.stateFile, "utf8")) as Record<string, unknown>;
      if (typeof state.agentId !== "string" || typeof state.resumeToken !== "string") throw new Error("agentId or resumeToken is missing");
      this.#session = { agentId: state.agentId, token: state.resumeToken };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      if (!(error instanceof SyntaxError) && (error as NodeJS.ErrnoException).code) throw error;
      this.#options.log(`${this.#options.stateFile} is no state of an agent, and is replaced`);
    }
  }

  #saveState(): void {
    const file = this.#options.stateFile;
    if (!file || !this.#session) return;
    const temporary = `${file}.${randomBytes(6).toString("hex")}`;
    try {
      const handle = openSync(temporary, "wx", 0o600);
      try {
        writeSync(handle, JSON.stringify({ agentId: this.#session.agentId, resumeToken: this.#session.token }));
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
      renameSync(temporary, file);
    } catch (error) {
      rmSync(temporary, { force: true });
      this.#options.log(`the session is not kept: ${textOf(error)}`);
    }
  }
}

function frameOf(type: string, payload: object, id?: string): string {
  return stringify({ type, id, timestamp: new Date().toISOString(), payload });
}

function sizeOf(payload: object): number {
  return Buffer.byteLength(stringify(payload));
}

/** Returns how many frames of progress a second a server gets that takes so many frames; undefined: it did not say. */
function rateOf(messagesPerSecond: number | undefined): number | undefined {
  if (!messagesPerSecond || messagesPerSecond < 0) return undefined;
  return Math.min(PROGRESS_RATE, Math.max(1, Math.floor(RATE_SHARE * messagesPerSecond)));
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message || error.name : String(error)).slice(0, MAX_MESSAGE);
}
