// JSON as it was written: numbers that a browser would round stay what they are.

interface Source { source?: string }
const exact = JSON as unknown as {
  rawJSON?(text: string): unknown; isRawJSON?(value: unknown): boolean;
  parse(text: string, revive: (name: string, value: unknown, of?: Source) => unknown): unknown;
};

// As many digits in a row as the largest whole number that is exact has, with a point among them or not, or a large exponent.
const perhaps = /\d{16}|\d[\d.]{16}|\d[eE][-+]?\d{3}/;

/** The digits of a number that mean something. */
const digits = (text: string): string => text.replace(/[eE].*$/, "").replace(/[-.]/g, "").replace(/^0+/, "");

/** Whether a number is another one than what was written. */
function changed(value: number, source: string): boolean {
  const written = digits(source);
  if (!Number.isFinite(value)) return true;
  if (value === 0) return written !== "";
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(value);
  return written.length > 15 && (written.length > 100 || digits(value.toPrecision(written.length)) !== written);
}

// A text, or a number, of JSON.
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Reads JSON. A number that would be changed by that is kept as its text, which JSON.stringify writes again; by an old browser it is read as a text: what people decide about must have every digit. */
export function parseExact(text: string): unknown {
  if (!perhaps.test(text)) return JSON.parse(text);
  if (!exact.rawJSON) {
    JSON.parse(text); // what is not JSON is not made such
    return JSON.parse(text.replace(tokens, (t) => (t[0] !== '"' && changed(Number(t), t) ? `"${t}"` : t)));
  }
  try {
    return exact.parse(text, (_, value, of) => (typeof value === "number" && of?.source !== undefined && changed(value, of.source) ? exact.rawJSON!(of.source) : value));
  } catch (err) {
    if (err instanceof RangeError) return JSON.parse(text); // it is deeper than a look at each number goes
    throw err;
  }
}

/** Reads JSON that a person wrote. What this browser cannot keep as it is written is an error. */
export function parseTyped(text: string): unknown {
  if (!exact.rawJSON && perhaps.test(text)) {
    return JSON.parse(text, (_, value: unknown) => {
      if (typeof value === "number" && (!Number.isFinite(value) || Number.isInteger(value) && !Number.isSafeInteger(value))) throw new Error("has a number that this browser does not keep as it is written: the command line does");
      return value;
    });
  }
  return parseExact(text);
}

/** Whether a value is a number that is kept as its text. */
export const isExact = (value: unknown): value is { rawJSON: string } => exact.isRawJSON?.(value) ?? false;
