/** The server does not want this agent, and trying again does not help. */
export class Refused extends Error {
    name = "Refused";
}
/** A message to another role goes nowhere. code is the server's, such as NOT_FOUND. */
export class MessageRefused extends Error {
    code;
    name = "MessageRefused";
    constructor(code, message) {
        super(`${code}: ${message}`);
        this.code = code;
    }
}
/** The error of a task, as a handler throws it. retryable: another attempt may succeed, perhaps by another agent. */
export class TaskError extends Error {
    code;
    name = "TaskError";
    retryable;
    details;
    constructor(code, message, options = {}) {
        super(message);
        this.code = code;
        this.retryable = options.retryable ?? false;
        this.details = options.details;
    }
}
