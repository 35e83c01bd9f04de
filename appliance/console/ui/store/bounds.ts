// What a definition lets the values of a field be, for people who fill it in. The server decides; patterns of texts are looked at by it alone.

import { isExact } from "./exact.ts";

export interface Bounds { min?: number; max?: number; minLength?: number; maxLength?: number; pattern?: string }

/** A number of a definition. One with many digits is kept as its text. */
const numberIn = (v: unknown): number | undefined => (typeof v === "number" ? v : isExact(v) ? Number(v.rawJSON) : undefined);

/** Reads the bounds of a field of a definition. */
export function boundsOf(o: Record<string, unknown>): Bounds {
  return { min: numberIn(o.min), max: numberIn(o.max), minLength: numberIn(o.minLength), maxLength: numberIn(o.maxLength), pattern: typeof o.pattern === "string" ? o.pattern : undefined };
}

/** The bounds in words; "" where there are none. */
export function boundsText(b: Bounds, unit: string): string {
  const within = (low: number | undefined, high: number | undefined, from: string, of: string): string =>
    low === undefined ? high === undefined ? "" : `at most ${high}${of}` : high === undefined ? `at least ${low}${of}` : `${from}${low} to ${high}${of}`;
  return [within(b.min, b.max, "from ", ""), within(b.minLength || undefined, b.maxLength, "", " " + unit), b.pattern ? "matching " + b.pattern : ""].filter(Boolean).join(", ");
}

/** Why a value is out of its bounds; "" where it is within. */
export function outOf(b: Bounds, type: string, value: unknown): string {
  const n = type === "number" || type === "integer" ? numberIn(value) : undefined;
  const length = typeof value === "string" ? [...value].length : Array.isArray(value) ? value.length : undefined;
  const unit = Array.isArray(value) ? "elements" : "characters";
  if (n !== undefined) {
    if (type === "integer" && Number.isFinite(n) && !Number.isInteger(n)) return "must be a whole number";
    if (b.min !== undefined && n < b.min) return `must be at least ${b.min}`;
    if (b.max !== undefined && n > b.max) return `must be at most ${b.max}`;
  }
  if (length !== undefined) {
    if (length < (b.minLength ?? 0)) return `must have at least ${b.minLength} ${unit}`;
    if (b.maxLength !== undefined && length > b.maxLength) return `must have at most ${b.maxLength} ${unit}`;
  }
  return "";
}
