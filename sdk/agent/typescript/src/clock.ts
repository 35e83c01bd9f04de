export const LONGEST = 2 ** 31 - 1; // milliseconds that a timer takes

/** The time that a task has. It stands still while the task waits for replies, as the server's does. */
export class Clock {
  #left: number; // milliseconds; 0: there is no limit
  #since = 0; // when it began to run
  #waits = 0; // questions without a reply
  #over: (() => void) | undefined; // while a handler runs
  #timer: NodeJS.Timeout | undefined;

  constructor(limit: number) {
    this.#left = Math.max(limit, 0);
  }

  /** Begins, and calls over once the time is over. */
  start(over: () => void): void {
    this.#over = over;
    this.#go();
  }

  pause(): void {
    this.#waits++;
    if (this.#timer) this.#left = Math.max(this.#left - (performance.now() - this.#since), 1);
    this.#halt();
  }

  resume(): void {
    this.#waits--;
    this.#go();
  }

  stop(): void {
    this.#over = undefined;
    this.#halt();
  }

  #go(): void {
    if (!this.#over || this.#left === 0 || this.#waits > 0) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#over, Math.min(this.#left, LONGEST));
  }

  #halt(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
