/** JSON.parse, with numbers that stringify writes as they came. */
export declare function parse(text: string): unknown;
/** JSON.stringify of objects. */
export declare function stringify(value: object): string;
