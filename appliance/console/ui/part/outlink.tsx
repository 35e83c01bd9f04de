import { reveal } from "./text.tsx";

/** A link of others in a line of its own, with its whole address. Only http, https and mailto are followed. */
export function OutLinkLine({ to, label }: { to: string; label: string }) {
  let safe = "";
  try {
    const url = new URL(to);
    if (["http:", "https:", "mailto:"].includes(url.protocol)) safe = url.href;
  } catch {
    // no address: shown as text
  }
  return <p class="outline">{label}: {safe ? <a class="out mono" href={safe} target="_blank" rel="noopener noreferrer nofollow">{reveal(safe)}</a> : <code>{reveal(to)}</code>}</p>;
}
