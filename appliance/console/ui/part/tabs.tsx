import { useLayoutEffect, useRef } from "preact/hooks";
import { place, queryOf } from "../route.ts";
import { href } from "../route.ts";
import { Icon } from "./icon.tsx";
import { count } from "./text.tsx";

export interface Tab { key: string; name: string; n?: number }

const edge = 12; // pixels that are seen of what stands beside the chosen tab

/** Tabs, each with an address of its own. */
export function Tabs({ tabs, of }: { tabs: Tab[]; of: string }) {
  const chosen = queryOf("tab") || tabs[0]!.key;
  const bar = useRef<HTMLElement>(null);
  const names = tabs.map((t) => t.key + (t.n ? "+" : "")).join(); // a number that goes up moves nothing
  useLayoutEffect(() => { // where there is no room for all, the chosen one is in view; the page does not move
    const nav = bar.current!;
    const tab = nav.querySelector<HTMLElement>("[aria-current]");
    if (!tab) return;
    nav.scrollLeft = Math.min(tab.offsetLeft - edge, Math.max(nav.scrollLeft, tab.offsetLeft + tab.offsetWidth + edge - nav.clientWidth));
  }, [chosen, names]);
  return <nav class="tabs" aria-label={of} ref={bar}>
    {tabs.map((t) => <a key={t.key} href={href(place.value.path + (t.key === tabs[0]!.key ? "" : "?tab=" + t.key))}
      aria-current={chosen === t.key ? "page" : undefined}>{t.name} {t.n ? <span class="count">{count(t.n)}</span> : null}</a>)}
  </nav>;
}

/** A search field for a list. */
export function Filter({ value, set, label }: { value: string; set: (text: string) => void; label: string }) {
  return <label class="filter"><Icon name="search" /><span class="sr">{label}</span>
    <input type="search" class="find" placeholder={label} value={value} onInput={(e) => set(e.currentTarget.value)} spellcheck={false} autocomplete="off" />
  </label>;
}

/** A choice in a list's filter bar. One whose options come late has its width before them: nothing beside it moves when they come. */
export function Choice({ label, value, options, set, late }: { label: string; value: string; options: [string, string][]; set: (v: string) => void; late?: boolean }) {
  return <label class={late ? "choice late" : "choice"}><span>{label}</span>
    <select value={value} onChange={(e) => set(e.currentTarget.value)}>
      {options.map(([v, name]) => <option key={v} value={v}>{name}</option>)}
    </select>
  </label>;
}
