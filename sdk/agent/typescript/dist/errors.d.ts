/** The server does not want this agent, and trying again does not help. */
export declare class Refused extends Error {
    name: string;
}
/** A message to another role goes nowhere. code is the server's, such as NOT_FOUND. */
export declare class MessageRefused extends Error {
    readonly code: string;
    name: string;
    constructor(code: string, message: string);
}
/** The error of a task, as a handler throws it. retryable: another attempt may succeed, perhaps by another agent. */
export declare class TaskError extends Error {
    readonly code: string;
    name: string;
    readonly retryable: boolean;
    readonly details: Record<string, unknown> | undefined;
    constructor(code: string, message: string, options?: {
        retryable?: boolean;
        details?: Record<string, unknown>;
    });
}
