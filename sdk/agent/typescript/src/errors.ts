/** The server does not want this agent, and trying again does not help. */
export class Refused extends Error {
  override name = "Refused";
}

/** A message to another role goes nowhere. code is the server's, such as NOT_FOUND. */
export class MessageRefused extends Error {
  override name = "MessageRefused";

  constructor(readonly code: string, message: string) {
    super(`${code}: ${message}`);
  }
}

/** The error of a task, as a handler throws it. retryable: another attempt may succeed, perhaps by another agent. */
export class TaskError extends Error {
  override name = "TaskError";
  readonly retryable: boolean;
  readonly details: Record<string, unknown> | undefined;

  constructor(readonly code: string, message: string, options: { retryable?: boolean; details?: Record<string, unknown> } = {}) {
    super(message);
    this.retryable = options.retryable ?? false;
    this.details = options.details;
  }
}
