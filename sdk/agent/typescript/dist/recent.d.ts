/** Remembers values by an id, in case a task or a message comes once more. The oldest go. */
export declare class Recent<T> {
    #private;
    readonly most: number;
    constructor(most?: number);
    add(id: string, value: T, size: number): void;
    get(id: string): T | undefined;
    entries(): [id: string, value: T][];
    delete(id: string): void;
}
