import type { ConnectionOptions } from "node:tls";
import type { Message, Task } from "./model.js";
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
/** An agent, which runs once. */
export declare class Agent {
    #private;
    /** Throws a TypeError for options that cannot be. */
    constructor(options: AgentOptions);
    /** Whether it is registered at a server now. */
    get connected(): boolean;
    /** Connects, reconnects and resumes until stop, the end of drain, or a refusal, with which it rejects as Refused. */
    run(): Promise<void>;
    /** Ends run: what is being worked on is aborted and goes to other agents. */
    stop(): void;
    /** Takes no more tasks, finishes those that run, waits until their answers are stored, and ends run. */
    drain(): Promise<void>;
}
