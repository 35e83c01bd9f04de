// JSON as it was written: numbers that a browser would round stay what they are.

interface Source { source?: string }
const exact = JSON as unknown as {
  rawJSON?(text: string): unknown; isRawJSON?(value: unknown): boolean;
  parse(text: string, revive: (name: string, value: unknown, of?: Source) => unknown): unknown;
};

// As many digits in a row as the largest whole number that is exact has.
const perhaps = /\d{16}/;

/** Reads JSON. A number that would be changed by that is kept as its text, which JSON.stringify writes again. */
export function parseExact(text: string): unknown {
  if (!exact.rawJSON || !perhaps.test(text)) return JSON.parse(text);
  try {
    return exact.parse(text, (_, value, of) => (typeof value === "number" && of?.source !== undefined && /^-?\d+$/.test(of.source) && !Number.isSafeInteger(value) ? exact.rawJSON!(of.source) : value));
  } catch (err) {
    if (err instanceof RangeError) return JSON.parse(text); // it is deeper than a look at each number goes
    throw err;
  }
}

/** Whether a value is a number that is kept as its text. */
export const isExact = (value: unknown): value is { rawJSON: string } => exact.isRawJSON?.(value) ?? false;
