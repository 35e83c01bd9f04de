// Markdown of agents: it becomes elements, never HTML. The parser comes when it is first needed; until then, and for
// what is longer than anybody formats, the text is shown as it is.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Long, reveal, revealed } from "./text.tsx";

type Render = (text: string, shown: import("./marked.tsx").Shown) => ComponentChildren;

let render: Render | undefined;
let loading: Promise<void> | undefined;
const maxFormatted = 128 << 10;
// A line is as long as this where people write. What hides half of a link in a longer one takes the parser time without end.
const maxLine = 8 << 10;
// A text without any of these looks the same either way.
const formatted = /[*_`#[\]|>~]|^\s*(?:[-+]|\d+[.)])\s|https?:|^-{3}/m;

export function Markdown({ text, label }: { text: string; label: string }) {
  const plain = text.length > maxFormatted || !formatted.test(text) || text.split("\n").some((l) => l.length > maxLine);
  const [, set] = useState(0);
  useEffect(() => {
    if (plain || render) return;
    let here = true;
    loading ??= import("./marked.tsx").then((m) => { render = m.render; });
    loading.then(() => { if (here) set((n) => n + 1); }, () => { loading = undefined; });
    return () => { here = false; };
  }, [plain]);
  if (plain || !render) return <Long text={text}>{(shown) => <div class="markdown as-is" role="group" aria-label={label} dir="auto">{reveal(shown)}</div>}</Long>;
  return <div class="markdown" role="group" aria-label={label} dir="auto">{render(text, { reveal, revealed })}</div>;
}
