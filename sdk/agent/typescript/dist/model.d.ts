/** The answer of another role to Task.ask. */
export interface Reply {
    readonly messageId: string;
    /** The role, or person. */
    readonly from: string;
    readonly content: unknown;
}
/** What another role of an org chart asks or tells. */
export interface Message {
    readonly messageId: string;
    readonly executionId: string;
    readonly taskId: string;
    readonly from: string;
    /** Such as question or feedback. */
    readonly kind: string;
    readonly topic: string;
    readonly content: unknown;
    readonly wantsReply: boolean;
}
/** How a message to another role goes. */
export interface AskOptions {
    topic?: string;
    /** A role; without it the org chart says where the message goes. */
    to?: string;
    /** question of ask, feedback of tell, or another word. */
    kind?: string;
}
/** A task. config may hold secrets: do not log it. */
export interface Task {
    readonly taskId: string;
    readonly executionId: string;
    readonly patternName: string;
    readonly patternVersion: string;
    readonly input: unknown;
    /** Milliseconds; 0: no limit. */
    readonly timeout: number;
    /** low, normal, high or critical */
    readonly priority: string;
    readonly attempt: number;
    readonly capability: string;
    /** Of an org chart; empty in a flat pattern. */
    readonly role: string;
    readonly step: string;
    readonly config: Readonly<Record<string, unknown>>;
    readonly context: Readonly<Record<string, unknown>>;
    /** Place of the attempt in a trace, as W3C Trace Context has it; empty: it is in none. */
    readonly traceparent: string;
    /** Aborted when the task is cancelled, given to others, or out of time: nobody waits for its answer any more. */
    readonly signal: AbortSignal;
    /**
     * Shows a text, or data, to whoever watches. It is not stored, and dropped while there is no connection, when much waits to be
     * sent, where the agent has sent too much of late, when it is larger than a frame may be, or when it is an empty text.
     */
    progress(shown: {
        text: string;
    } | {
        data: unknown;
    }): void;
    /**
     * Asks another role and waits for its reply; the task's time stands still meanwhile. Rejects with MessageRefused if it goes
     * nowhere, and when signal is aborted.
     */
    ask(content: unknown, options?: AskOptions): Promise<Reply>;
    /**
     * Says something to another role and waits for nothing. The agent tells 40 times a second, or slower as the server takes it: what is
     * more waits for its turn, and the answer to the task for it. What was told in the last minute, up to 64 messages, is sent
     * again by the next connection, while the server has no answer to the task.
     */
    tell(content: unknown, options?: AskOptions): void;
}
