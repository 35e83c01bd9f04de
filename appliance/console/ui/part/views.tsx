// Filters that a person named, kept in this browser.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { go, place } from "../route.ts";
import { Dialog } from "./dialog.tsx";
import { Choice } from "./tabs.tsx";
import { Text } from "./text.tsx";

interface View { name: string; screen: string; query: string }

const maxViews = 50;
const maxName = 60;

function stored(): View[] {
  try {
    const list = JSON.parse(localStorage.getItem("wardroom-views") ?? "[]") as View[];
    return list.filter((v) => typeof v?.name === "string" && typeof v.screen === "string" && typeof v.query === "string").slice(0, maxViews);
  } catch {
    return []; // no storage, or not ours: views live as long as the page
  }
}

const views = signal<View[]>(stored());
addEventListener("storage", (e) => { if (e.key === "wardroom-views") views.value = stored(); }); // another tab named or forgot one

function store(list: View[]): void {
  views.value = list.slice(-maxViews);
  try {
    localStorage.setItem("wardroom-views", JSON.stringify(views.peek()));
  } catch {
    // likewise
  }
}

export function SavedViews({ screen, path }: { screen: string; path: string }) {
  const [asking, setAsking] = useState(false);
  const [name, setName] = useState("");
  const query = place.value.query.toString();
  const mine = views.value.filter((v) => v.screen === screen);
  const now = mine.find((v) => v.query === query);
  const choose = (key: string) => {
    if (key === "save") { setName(now?.name ?? ""); setAsking(true); return; }
    const v = mine.find((o) => "v:" + o.name === key);
    go(path + (v?.query ? "?" + v.query : ""));
  };
  return <><Choice key={query} label="View" value={now ? "v:" + now.name : ""} set={choose} options={[["", query && !now ? "unnamed" : "all"], ...mine.map((v): [string, string] => ["v:" + v.name, v.name]), ["save", "Name this view\u2026"]]} />
    {asking && <Dialog title="Views" close={() => setAsking(false)}><form onSubmit={(e) => {
      e.preventDefault();
      const called = name.trim().slice(0, maxName);
      if (!called) return;
      store([...views.peek().filter((v) => v.screen !== screen || v.name !== called), { name: called, screen, query }]);
      setAsking(false);
    }}><div class="body form"><p>A view is the filters, columns and time that the address has now. It is kept in this browser.</p>
      <label><span>Name</span><input value={name} maxLength={maxName} onInput={(e) => setName(e.currentTarget.value)} autocomplete="off" autoFocus /></label>
      {mine.length > 0 && <ul class="plain">{mine.map((v) => <li key={v.name} class="line"><Text>{v.name}</Text><span class="push" /><button type="button" class="link" onClick={() => store(views.peek().filter((o) => o !== v))}>forget</button></li>)}</ul>}
    </div><footer><button type="button" class="button" onClick={() => setAsking(false)}>Close</button><button type="submit" class="button main" disabled={!name.trim()}>Keep it</button></footer></form></Dialog>}</>;
}
