// Texts of others: what cannot be seen in them, or turns what can be seen around, is made visible.

import type { ComponentChildren } from "preact";

// Controls but tab and line breaks; soft hyphen, zero width, bidirectional controls, tags, fillers, and marks of music and
// shorthand. A joiner, and a variation selector, stay where they belong: in emoji, and where a script has them. Elsewhere they
// are seen by nobody, and may carry a text of their own.
const unseen = new RegExp([
  "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200c\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u2028\\u2029\\u2800\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb]",
  "[\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}]",
  "(?<![\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{M}\\p{Script=Arabic}])\\u200d",
  "(?<!\\p{Emoji})[\\ufe0e\\ufe0f]|(?<![\\p{S}\\p{Script=Han}])[\\ufe00-\\ufe0d]|(?<!\\p{Script=Han})[\\u{e0100}-\\u{e01ef}]",
].join("|"), "gu");

/** Splits a text at its unseen characters. */
export function reveal(text: string): ComponentChildren {
  if (text.search(unseen) < 0) return text; // test would leave the place of the first, and what follows would begin behind it
  const out: ComponentChildren[] = [];
  let at = 0;
  let marks = 0;
  for (const m of text.matchAll(unseen)) {
    if (m.index > at) out.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    const code = m[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    if (++marks <= 500) out.push(<span class="unseen" title={"U+" + code}>{"\u2039" + code + "\u203a"}</span>);
  }
  out.push(text.slice(at));
  return out;
}

/** What is left of a text of which the beginning was sent: what was written since. */
export const writtenSince = (sent: string, now: string): string => (now.startsWith(sent) ? now.slice(sent.length).trimStart() : now);

/** The same as plain text, for titles and attributes. */
export function revealed(text: string): string {
  return text.replace(unseen, (c) => "\u2039" + c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0") + "\u203a");
}

/** A text of others in a line, set apart from the direction of what is around it. */
export function Text({ children, class: name }: { children?: string; class?: string }) {
  return <bdi class={name}>{reveal(children ?? "")}</bdi>;
}

const firstShown = 32 << 10;
const longestLine = 4000;

/** A long text of others as it is, in a fixed face. More than 32 KiB are shown when asked for. */
export function Pre({ text, label }: { text: string; label: string }) {
  return <Long text={text}>{(shown) => <pre class="text" tabIndex={0} role="region" aria-label={label} dir="auto">{reveal(shown)}</pre>}</Long>;
}

import { useState } from "preact/hooks";

/** The breaks of lines as their code, for what has to stay in one line. */
export const inLine = (text: string): string => text.replace(/[\n\r]/g, (c) => (c === "\n" ? "\u2039000A\u203a" : "\u2039000D\u203a"));

/** A line of a file. More than 4,000 characters are shown when asked for. */
export function Line({ text }: { text: string }) {
  return <Long text={text} first={longestLine}>{reveal}</Long>;
}

export function Long({ text, first = firstShown, children }: { text: string; first?: number; children: (shown: string) => ComponentChildren }) {
  const [size, setSize] = useState(first);
  const shown = text.length > size ? text.slice(0, size) : text;
  return <>
    {children(shown)}
    {shown.length < text.length && <button type="button" class="link" onClick={() => setSize(size * 8)}>
      Show more: {count(text.length - shown.length)} further characters
    </button>}
  </>;
}

export const count = (n: number): string => n.toLocaleString("en");

export function plural(n: number, one: string, many = one + "s"): string {
  return count(n) + " " + (n === 1 ? one : many);
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n: number): string {
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return (i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)) + " " + units[i];
}
