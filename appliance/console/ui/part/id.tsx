import { useState } from "preact/hooks";
import { href } from "../route.ts";
import { Icon } from "./icon.tsx";
import { revealed } from "./text.tsx";

/** The end of an id, which tells it from others. */
export const shortID = (id: string): string => {
  const at = id.indexOf("_");
  return at > 0 && id.length > at + 10 ? id.slice(0, at + 1) + "\u2026" + id.slice(-4) : id;
};

/** An id: short, whole in its title, a link if it leads somewhere. */
export function ID({ id, to }: { id: string; to?: string }) {
  const text = <span class="mono" title={revealed(id)}>{shortID(revealed(id))}</span>;
  return to ? <a href={href(to)}>{text}</a> : text;
}

/** A button that copies a text. Where there is none to copy, as of a form that is not filled in right, its function throws why. */
export function Copy({ text, label, children }: { text: string | (() => string); label: string; children?: string }) {
  const [done, setDone] = useState("");
  const say = (words: string) => {
    setDone(words);
    setTimeout(() => setDone(""), 1500);
  };
  const copy = async () => {
    let what: string;
    try {
      what = typeof text === "string" ? text : text();
    } catch (err) {
      say((err as Error).message);
      return;
    }
    await navigator.clipboard.writeText(what).then(() => say("Copied"), () => say("This browser does not let pages copy here"));
  };
  return <button type="button" class={children ? "button" : "quiet"} onClick={() => void copy()} aria-label={children ? undefined : label} title={done || label}>
    <Icon name={done ? "tick" : "copy"} />{children && <span>{done || children}</span>}
    <span class="sr" role="status">{done}</span>
  </button>;
}
