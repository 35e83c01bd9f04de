export const LONGEST = 2 ** 31 - 1; // milliseconds that a timer takes
/** The time that a task has. It stands still while the task waits for replies, as the server's does. */
export class Clock {
    #left; // milliseconds; 0: there is no limit
    #since = 0; // when it began to run
    #waits = 0; // questions without a reply
    #over; // while a handler runs
    #timer;
    constructor(limit) {
        this.#left = Math.max(limit, 0);
    }
    /** Begins, and calls over once the time is over. */
    start(over) {
        this.#over = over;
        this.#go();
    }
    pause() {
        this.#waits++;
        if (this.#timer)
            this.#left = Math.max(this.#left - (performance.now() - this.#since), 1);
        this.#halt();
    }
    resume() {
        this.#waits--;
        this.#go();
    }
    stop() {
        this.#over = undefined;
        this.#halt();
    }
    #go() {
        if (!this.#over || this.#left === 0 || this.#waits > 0)
            return;
        this.#since = performance.now();
        this.#timer = setTimeout(this.#over, Math.min(this.#left, LONGEST));
    }
    #halt() {
        clearTimeout(this.#timer);
        this.#timer = undefined;
    }
}
