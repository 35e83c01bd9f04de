export declare const LONGEST: number;
/** The time that a task has. It stands still while the task waits for replies, as the server's does. */
export declare class Clock {
    #private;
    constructor(limit: number);
    /** Begins, and calls over once the time is over. */
    start(over: () => void): void;
    pause(): void;
    resume(): void;
    stop(): void;
}
