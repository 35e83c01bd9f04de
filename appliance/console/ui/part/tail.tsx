import { useLayoutEffect, useRef } from "preact/hooks";
import { reveal } from "./text.tsx";

/** A text whose end is in view, for as long as a person does not scroll up. */
export function Tail({ text, label }: { text: string; label: string }) {
  const box = useRef<HTMLPreElement>(null);
  const end = useRef(true);
  useLayoutEffect(() => { const el = box.current; if (el && end.current) el.scrollTop = el.scrollHeight; }, [text]);
  return <pre class="text" tabIndex={0} role="region" aria-label={label} dir="auto" ref={box} onScroll={(e) => { const el = e.currentTarget; end.current = el.scrollHeight - el.scrollTop - el.clientHeight < 40; }}>{reveal(text)}</pre>;
}
