import { randomBytes } from "node:crypto";

/*
 * Frames hold numbers that a number of JavaScript does not: 9007199254740993 is read as 9007199254740992, and 1e400 as Infinity, which
 * JSON.stringify writes as null. Handlers get the number that is nearest. The object or array that holds it remembers
 * its text under a symbol, which JSON and Object.keys pass over and which a spread takes along: it is written as it came where
 * it is passed on. JSON.parse of Node 20 does not show the text of numbers, nor does JSON.stringify take one.
 */

const TEXTS = Symbol("texts of numbers");
const MARK = randomBytes(16).toString("hex"); // begins strings that stand for numbers between text and value
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SUSPECT = /[0-9.]{16}|[0-9][eE]/; // no other text has a number that is not held

type Holder = { [TEXTS]?: Map<string, string> };

let met = false; // a number that is not held was read: what is written may have it

/** JSON.parse, with numbers that stringify writes as they came. */
export function parse(text: string): unknown {
  const marked = SUSPECT.test(text) ? mark(text) : text;
  if (marked === text) return JSON.parse(text);
  try {
    const value: unknown = JSON.parse(marked, function (this: Holder, key: string, value: unknown) {
      if (typeof value !== "string" || !value.startsWith(MARK)) return value;
      const number = value.slice(MARK.length);
      (this[TEXTS] ??= new Map()).set(key, number);
      return Number(number);
    });
    met = true;
    return value;
  } catch (error) {
    if (error instanceof RangeError) return JSON.parse(text); // too deep for a reviver
    throw error;
  }
}

/** JSON.stringify of objects. */
export function stringify(value: object): string {
  try {
    if (met) return JSON.stringify(value, withText).replace(MARKED, "$1");
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // else too deep for a replacer
  }
  return JSON.stringify(value);
}

/** Is the replacer that puts a string in the place of a number whose text is remembered. */
function withText(this: Holder, key: string, value: unknown): unknown {
  if (typeof value !== "number") return value;
  const number = this[TEXTS]?.get(key);
  return number !== undefined && Number(number) === value ? MARK + number : value;
}

/** Returns text with strings in the place of numbers that are not held. */
function mark(text: string): string {
  let marked = "";
  let done = 0;
  for (let at = 0; at < text.length; ) {
    const c = text.charCodeAt(at);
    if (c === 0x22) { // a string
      at++;
      while (at < text.length && text.charCodeAt(at) !== 0x22) at += text.charCodeAt(at) === 0x5c ? 2 : 1;
      at++;
      continue;
    }
    NUMBER.lastIndex = at;
    const number = c === 0x2d || (c >= 0x30 && c <= 0x39) ? NUMBER.exec(text)?.[0] : undefined;
    if (number === undefined) {
      at++;
      continue;
    }
    if (!held(number)) {
      marked += `${text.slice(done, at)}"${MARK}${number}"`;
      done = at + number.length;
    }
    at += number.length;
  }
  return marked + text.slice(done);
}

/** Whether a number is written with the value that it was read with. */
function held(number: string): boolean {
  const value = Number(number);
  return Number.isFinite(value) && canonical(number) === canonical(String(value));
}

/** Returns the one form that equal numbers have. */
function canonical(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE](.+))?$/.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  return short === "" ? "0" : `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`;
}
