// Requests to the API: one function for each kind, errors with their code, and what all answers say about the server.

import { signal } from "@preact/signals";
import { base } from "../base.ts";
import { parseExact } from "../store/exact.ts";

/** An answer that is no success, or no answer at all. */
export class ApiError extends Error {
  constructor(
    readonly code: string, message: string, readonly status: number, readonly requestId: string,
    readonly details: Record<string, unknown> = {}, readonly retryAfter = 0,
    /** Whether it is of a request that changes something, which is not made again by itself. */
    readonly sent = false,
  ) {
    super(message);
  }
}

/** The API key that was typed in, if any. It is kept in memory only: a page that is loaded anew has none. */
export const apiKey = signal("");
/** Token against forged requests, of a session by cookie. */
export const csrf = signal("");
/** Whether the server wants to know who we are. */
export const signInNeeded = signal(false);
/** Version of the server by its newest answer, and by its first one. */
export const serverVersion = signal("");
export const firstVersion = signal("");
/** What is to be added to the browser's clock for the server's, in milliseconds. */
export const clockSkew = signal(0);

/** Now, by the server's clock. */
export function now(): number {
  return Date.now() + clockSkew.peek();
}

export type Query = Record<string, string | number | boolean | undefined>;

/** The address of a path of the API. */
export function address(path: string, query?: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return base + path + (text ? "?" + text : "");
}

const bearer = (key: string): Record<string, string> => ({ Authorization: "Bearer " + key });

/** Headers that say who we are. */
export const credentials = (): Record<string, string> => (apiKey.peek() ? bearer(apiKey.peek()) : {});

const tags = new WeakMap<object, string>();

/** The state of what was read, for a change that is made only as long as it is that. */
export const tagOf = (body: object | undefined): string | undefined => body && tags.get(body);

const timeoutMs = 30_000;

export interface CallOptions<T> {
  query?: Query; body?: unknown; signal?: AbortSignal; once?: string; timeout?: number; match?: string; key?: string;
  /** The media type that is asked for, where it is not JSON. */
  accept?: string;
  /** Reads a success that is not JSON, for as long as that takes: the time is that of the answer's beginning. */
  take?: (answer: Response) => Promise<T>;
}

/** Who we are to the server, as a text that is another one after each sign-in. */
const who = (): string => apiKey.peek() + " " + csrf.peek();

/** Calls the API. `once` is an Idempotency-Key: a repeat of the same click does nothing twice. */
export async function call<T>(method: string, path: string, o: CallOptions<T> = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: o.accept ?? "application/json", ...(o.key ? bearer(o.key) : credentials()) };
  if (o.body !== undefined) headers["Content-Type"] = "application/json";
  if (o.once) headers["Idempotency-Key"] = o.once;
  if (o.match) headers["If-Match"] = o.match;
  if (method !== "GET" && csrf.peek()) headers["X-CSRF-Token"] = csrf.peek();
  const asked = who();
  const ms = o.timeout ?? timeoutMs;
  const over = new AbortController();
  const limit = over.signal;
  const timer = setTimeout(() => over.abort(), ms);
  const sent = method !== "GET";
  const failed = (code: string, message: string, requestId = "", status = 0) => new ApiError(code, message, status, requestId, {}, 0, sent);
  const noAnswer = () => failed("NO_ANSWER", `The server gave no answer within ${ms / 1000} seconds.`);
  let answer: Response;
  try {
    answer = await fetch(address(path, o.query), {
      method, headers, body: o.body === undefined ? undefined : JSON.stringify(o.body), cache: "no-store",
      credentials: "same-origin", redirect: "error", signal: o.signal ? AbortSignal.any([o.signal, limit]) : limit,
    });
  } catch (err) {
    clearTimeout(timer);
    if (o.signal?.aborted) throw err;
    throw limit.aborted ? noAnswer() : failed("UNREACHABLE", "The server cannot be reached.");
  }
  learn(answer);
  const requestId = answer.headers.get("X-Request-Id") ?? "";
  let text: string;
  try {
    if (answer.ok && o.take) {
      clearTimeout(timer);
      return await o.take(answer);
    }
    if (answer.status === 204) return undefined as T;
    text = await answer.text();
  } catch (err) {
    if (o.signal?.aborted || err instanceof ApiError) throw err;
    throw limit.aborted ? noAnswer() : failed("UNREACHABLE", "The connection broke off in the middle of the answer.", requestId);
  } finally {
    clearTimeout(timer);
  }
  let body: unknown;
  try {
    body = parseExact(text);
  } catch {
    if (answer.ok) throw failed("UNREADABLE", `The answer (status ${answer.status}) cannot be read.`, requestId, answer.status);
    body = undefined; // the page of a proxy
  }
  if (answer.ok) {
    const tag = answer.headers.get("ETag");
    if (tag && body && typeof body === "object") tags.set(body, tag);
    return body as T;
  }
  if (answer.status === 401) {
    if (asked === who()) signInNeeded.value = true;
    else if (method === "GET") return call(method, path, o); // somebody signed in while this was under way
  }
  throw refusal(answer, body, requestId, sent);
}

interface Refused { code?: string; message?: string; details?: Record<string, unknown> | null }

/** The error of an answer that is none of success: as the server has it, or by its status alone where something between gave it. */
function refusal(answer: Response, body: unknown, requestId: string, sent: boolean): ApiError {
  const by = (body as { error?: Refused | string } | null | undefined)?.error;
  const said: Refused = by && typeof by === "object" ? by : {};
  const plain = `The answer has the status ${answer.status}` + (answer.status === 413 ? ": what was sent is too large." : ", without a reason.");
  return new ApiError(said.code ?? "HTTP_" + answer.status, said.message || plain, answer.status, requestId, said.details ?? {}, pauseOf(answer), sent);
}

const longestPause = 3600;

/** The seconds of a Retry-After, which is a number of them or a date: what a proxy sends may be either, or anything. */
function pauseOf(answer: Response): number {
  const said = answer.headers.get("Retry-After") ?? "";
  const seconds = /^\d+$/.test(said) ? Number(said) : (Date.parse(said) - now()) / 1000;
  return seconds > 0 ? Math.min(seconds, longestPause) : 0; // of no date it is not a number
}

function learn(answer: Response): void {
  const version = answer.headers.get("X-Service-Version");
  if (version) {
    if (!firstVersion.peek()) firstVersion.value = version;
    serverVersion.value = version;
  }
  const date = Date.parse(answer.headers.get("Date") ?? "");
  if (!Number.isNaN(date)) {
    const skew = date + 500 - Date.now(); // the header has whole seconds
    clockSkew.value = Math.abs(skew) > 2000 ? skew : 0;
  }
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> => call<T>("GET", path, { query, signal });
export const post = <T>(path: string, body?: unknown, once?: string): Promise<T> => call<T>("POST", path, { body, once });
export const del = <T>(path: string, query?: Query): Promise<T> => call<T>("DELETE", path, { query });

/** A new Idempotency-Key. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "console-" + Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/** A segment of a path. */
export const seg = encodeURIComponent;

/** A word of a command that people copy into a shell, whatever is in it. */
export const quote = (s: string): string => "'" + s.replaceAll("'", "'\\''") + "'";

/** The same, without the quotes where a shell reads nothing into it. */
export const word = (s: string): string => (/^[\w@%+=:,./-]+$/.test(s) ? s : quote(s));
