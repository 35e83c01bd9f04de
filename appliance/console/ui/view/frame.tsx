// The frame around all screens: navigation, search, the connection, keys.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clockSkew, firstVersion, get, seg, serverVersion, signInNeeded } from "../api/client.ts";
import type { PatternList } from "../api/types.gen.ts";
import { connectNow, connection } from "../live/live.ts";
import { forgetNews, news, notifyOf } from "../live/notify.ts";
import { Dialog } from "../part/dialog.tsx";
import { Icon } from "../part/icon.tsx";
import { comeBack } from "../part/left.ts";
import { Failure } from "../part/notice.tsx";
import { Moments } from "../part/moments.tsx";
import { Text } from "../part/text.tsx";
import { roughly, tick } from "../part/time.tsx";
import { go, href, isID, place, segments } from "../route.ts";
import { choose, setting } from "../setting.ts";
import { changesInbox, readInbox } from "../store/ask.ts";
import { inboxCount } from "../store/counts.ts";
import { useLoad } from "../store/load.ts";
import { asked, may, person, readSession, session, unknown } from "../store/session.ts";
import { Account, SignInDialog, SignInPage } from "./signin.tsx";

// Screens with the key that leads there after g, and what a person has to be permitted for it to be of use.
const all: [string, string, string, string][] = [
  ["overview", "Overview", "o", "executions.read"], ["inbox", "Inbox", "i", "inbox.read"], ["executions", "Executions", "e", "executions.read"],
  ["batches", "Batches", "b", "executions.read"], ["patterns", "Patterns", "p", "patterns.read"], ["schedules", "Schedules", "c", "schedules.read"],
  ["triggers", "Triggers", "r", "triggers.read"], ["threads", "Threads", "t", "threads.read"], ["agents", "Agents", "a", "agents.read"], ["memory", "Memory", "m", "experiences.read"],
  ["webhooks", "Webhooks", "w", "webhooks.read"], ["audit", "Audit", "u", "audit.read"], ["system", "System", "s", "health.read"],
];

/** The screens that are offered. What is of this browser alone is in the last, whatever else is permitted. */
const screens = (): typeof all => all.filter(([key, , , needs]) => key === "system" || may(needs));

/** Nothing is shown, and nothing asked for, before it is known who asks. */
export function Frame({ children }: { children: ComponentChildren }) {
  if (!asked.value) return null;
  if (!session.value) return signInNeeded.value ? <SignInPage /> : <main class="sign-in" id="main">{unknown.value && <Failure error={unknown.value} again={() => void readSession()} />}</main>;
  return <Framed key={person.value}>{children}</Framed>; // begun anew for somebody else
}

function Framed({ children }: { children: ComponentChildren }) {
  const at = segments.value[0] ?? "overview";
  const inbox = useLoad("inbox", readInbox, { on: changesInbox, pause: 250 });
  const [open, setOpen] = useState("");
  useEffect(() => { if (inbox.data) { inboxCount.value = inbox.data.total; notifyOf(inbox.data.asks); } }, [inbox.data]);
  useLayoutEffect(() => keys(setOpen), []);
  useLayoutEffect(() => forgetNews, []);
  const main = useRef<HTMLElement>(null);
  const path = place.value.path;
  const first = useRef(true);
  useLayoutEffect(() => { // at once: a later focus would be taken from what the person went to meanwhile
    setOpen("");
    if (first.current) {
      first.current = false;
      return;
    }
    main.current?.focus({ preventScroll: true }); // another screen: readers and keys begin there
    return comeBack(place.peek().key, main.current!);
  }, [path]);
  const n = inboxCount.value;
  return <>
    <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current?.focus(); }}>To the content</a>
    <div class="frame">
      <header class="top">
        <button type="button" class="quiet menu" aria-label="Navigation" aria-expanded={open === "menu"} onClick={() => setOpen(open === "menu" ? "" : "menu")}><Icon name="menu" /></button>
        <a class="brand" href={href("/")} aria-label="Wardroom, overview"><svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true"><rect width="32" height="32" rx="7" class="fill" /><path d="M6 9.500l4.600 13h1.700L16 13.200l3.700 9.300h1.700L26 9.500" /></svg><span>Wardroom</span></a>
        <button type="button" class="jump" onClick={() => setOpen("jump")}><Icon name="search" /><span>Id, pattern, command</span><kbd>Ctrl K</kbd></button>
        <span class="push" />
        <Connected />
        <a class={"button inbox-count" + (n ? " needs" : "")} href={href("/inbox")} aria-label={`Inbox, ${n} open`}><Icon name="inbox" /><span class="nums">{n}</span></a>
        <button type="button" class="quiet" aria-label={"Theme: " + setting.value.theme} title={"Theme: " + setting.value.theme} onClick={() => choose({ theme: ({ system: "light", light: "dark", dark: "system" } as const)[setting.value.theme] })}><Icon name="sun" /></button>
        <Me open={() => setOpen("account")} />
      </header>
      <nav class={"side" + (open === "menu" ? " open" : "")} aria-label="Screens">
        {screens().map(([key, name]) => <a key={key} href={href(key === "overview" ? "/" : "/" + key)} aria-current={at === key ? "page" : undefined}><Icon name={key} /><span>{name}</span> {key === "inbox" && n > 0 && <span class="count needs">{n}</span>}</a>)}
        <span class="push" />
        <Me open={() => setOpen("account")} />
        <button type="button" class="quiet help" onClick={() => setOpen("keys")}><Icon name="keys" /><span>Keys</span><kbd>?</kbd></button>
      </nav>
      <main id="main" tabIndex={-1} ref={main} aria-label={all.find(([key]) => key === at)?.[1]} onClickCapture={backToRow}>
        {serverVersion.value && firstVersion.value !== serverVersion.value && <div class="notice" role="status"><span>The server is another version now: {serverVersion.value}.</span><button type="button" class="button" onClick={() => location.reload()}>Load it</button></div>}
        {children}
        <p class="sr" role="status">{news.value}</p>
        <Moments />
      </main>
    </div>
    {open === "jump" && <Jump close={() => setOpen("")} />}
    {open === "keys" && <Keys close={() => setOpen("")} />}
    {open === "account" && <Account close={() => setOpen("")} />}
    {signInNeeded.value && <SignInDialog />}
  </>;
}

/** Gives the focus back to the row whose details are closed: with them went the button that had it. */
function backToRow(e: MouseEvent): void {
  if ((e.target as Element).closest(".detail > header button[aria-label=Close]")) (e.currentTarget as Element).querySelector<HTMLElement>("tr.chosen, .line.chosen")?.focus({ preventScroll: true });
}

function Connected() {
  const c = connection.value;
  const [shown, setShown] = useState(false);
  useEffect(() => { // a reconnect within a second is no news
    if (c.state === "live") { setShown(false); return; }
    const t = setTimeout(() => setShown(true), 1000);
    return () => clearTimeout(t);
  }, [c]);
  const off = c.state !== "live" && shown;
  const broke = useRef(false); // that it is there is news after a break alone
  if (off) broke.current = true;
  const told = off || broke.current && c.state === "live";
  const word = off ? (c.state === "refused" ? "not permitted" : c.state === "connecting" ? "connecting" : "no connection") : c.state === "live" ? "live" : "\u2026";
  return <span class={off ? "live off" : "live"} title={off ? undefined : "What is shown changes by itself"}><i class="dot" /><span role="status">{told && word}</span>{!told && word}
    {off && <> <span class="nums">{roughly(tick.value - clockSkew.value - c.since)}</span> <button type="button" class="link" onClick={connectNow}>try now</button></>}</span>;
}

function Me({ open }: { open: () => void }) {
  const s = session.value;
  if (!s) return null;
  return <button type="button" class="quiet me" title={s.id} aria-label={"Who you are: " + (s.authenticated ? s.name || s.id : "open server")} onClick={open}><Icon name="role" /><span>{s.authenticated ? <Text>{s.name || s.id}</Text> : "open server"}</span></button>;
}

/** The single keys of the frame. Those of screens are heard as events. */
function keys(setOpen: (what: string) => void): () => void {
  let lead = 0;
  const tell = (detail: string) => dispatchEvent(new CustomEvent("wardroom-key", { detail }));
  const press = (e: KeyboardEvent) => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
      e.preventDefault();
      setOpen("jump");
      return;
    }
    const on = e.target as Element;
    if (e.ctrlKey || e.metaKey || e.altKey || !setting.peek().keys || on.closest("input,textarea,select,[contenteditable],.terminal.writing")) return;
    if (document.querySelector("dialog[open]")) return; // also where the focus was in a button of it that is disabled now
    if (lead && e.timeStamp - lead < 1500) { // as they were pressed: a page that is busy handles keys late
      lead = 0;
      const to = screens().find((s) => s[2] === e.key);
      if (to) {
        e.preventDefault();
        go(to[0] === "overview" ? "/" : "/" + to[0]);
      }
      return;
    }
    const row = on.closest<HTMLElement>("[data-index]");
    const step = (by: number) => {
      tell(by > 0 ? "next" : "before");
      if (row) row.dispatchEvent(new KeyboardEvent("keydown", { key: by > 0 ? "ArrowDown" : "ArrowUp", bubbles: true }));
      else document.querySelector<HTMLElement>("main [data-index]")?.focus();
    };
    switch (e.key) {
      case "g": lead = e.timeStamp; break;
      case "?": setOpen("keys"); break;
      case "/": {
        const find = document.querySelector<HTMLElement>("main .find, main select");
        if (!find) return;
        find.focus();
        break;
      }
      case "j": step(1); break;
      case "k": step(-1); break;
      case "x":
        if (row) row.querySelector<HTMLInputElement>("input[type=checkbox]")?.click();
        else tell("mark");
        break;
      case "r": tell("refresh"); break;
      case "n": tell("problem"); break;
      case "p": tell("problem before"); break;
      case "c": tell("remark"); break;
      case "t": choose({ times: setting.peek().times === "absolute" ? "relative" : "absolute" }); break;
      case "]": tell("part"); break;
      case "[": tell("part before"); break;
      case "Escape": setOpen(""); return;
      default:
        if (!/^[1-9]$/.test(e.key)) return;
        dispatchEvent(new CustomEvent("wardroom-digit", { detail: Number(e.key) }));
    }
    e.preventDefault();
  };
  addEventListener("keydown", press);
  return () => removeEventListener("keydown", press);
}

const listed = (): [string, string][] => [
  ["Ctrl K", "jump to an id, a pattern or a screen"], ["g, then a letter", "a screen: " + screens().map((s) => `${s[2]} ${s[1]}`).join(", ")], ["/", "the filter of the screen"],
  ["j k, arrows", "next and previous row"], ["Enter", "open it"], ["x, Space", "select it"], ["r", "show the new rows"], ["n p", "next and previous problem of a timeline, file of changes"], ["] [", "next and previous part of changes"], ["c", "remark on a line of changes"], ["t", "times as they are, or how long ago"], ["1 \u2026 9", "an option of a prompt, which Enter then gives"],
  ["+ \u2212 0", "zoom of a timeline that has the focus"], ["\u2190 \u2192", "close and open an entry"], ["Ctrl Enter", "send a message or an answer"], ["Ctrl ]", "give a terminal back"], ["?", "this list"],
];

function Keys({ close }: { close: () => void }) {
  return <Dialog title="Keys" close={close}><div class="body"><dl class="keys">{listed().map(([k, what]) => <div key={k}><dt><kbd>{k}</kbd></dt><dd>{what}</dd></div>)}</dl>
    <label class="line"><input type="checkbox" checked={setting.value.keys} onChange={(e) => choose({ keys: e.currentTarget.checked })} /> Single keys are on</label></div></Dialog>;
}

interface Hit { name: string; what: string; to: string }

/** Jumps to whatever is typed. */
function Jump({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const q = text.trim();
  const patterns = useLoad(may("patterns.read") ? "patterns" : "", (signal) => get<PatternList>("/api/patterns", { limit: 100 }, signal));
  const further = useLoad(patterns.data?.hasMore && q ? "patterns-found:" + q : "", (signal) => get<PatternList>("/api/patterns", { search: q, limit: 12 }, signal));
  const hits: Hit[] = [];
  const id = /[a-z]+_[0-9A-HJKMNP-TV-Z]{26}/.exec(q)?.[0] ?? "";
  if (isID(id)) hits.push({ name: id, what: "open", to: "/" + id });
  const fits = (s: string) => s.toLowerCase().includes(q.toLowerCase());
  for (const [key, name] of screens()) if (!id && fits(name)) hits.push({ name, what: "screen", to: key === "overview" ? "/" : "/" + key });
  for (const s of ["running", "failed", "pending", "completed", "cancelled"]) if (!id && q && fits(s + " executions")) hits.push({ name: s + " executions", what: "list", to: "/executions?status=" + s });
  const names = new Set([...patterns.data?.patterns ?? [], ...further.data?.patterns ?? []].map((p) => p.name));
  for (const name of names) if (!id && q && fits(name)) hits.push({ name, what: "pattern", to: "/patterns/" + seg(name) });
  const shown = hits.slice(0, 12);
  const open = (h?: Hit) => { if (h) { close(); go(h.to); } };
  return <Dialog title="Jump to" close={close}>
    <div class="body jumping"><input autoFocus role="combobox" aria-expanded="true" aria-controls="hits" aria-activedescendant={shown[at] ? "hit" + at : undefined} aria-label="Id, pattern or command" placeholder="Id, pattern or command" value={text} spellcheck={false} autocomplete="off"
      onInput={(e) => { setText(e.currentTarget.value); setAt(0); }}
      onKeyDown={(e) => {
        if (e.key === "ArrowDown") setAt(Math.max(0, Math.min(shown.length - 1, at + 1)));
        else if (e.key === "ArrowUp") setAt(Math.max(0, at - 1));
        else if (e.key === "Enter") open(shown[at]);
        else return;
        e.preventDefault();
      }} />
      <ul role="listbox" id="hits" aria-label="Hits">{shown.map((h, i) => <li key={h.to + h.name} id={"hit" + i} role="option" aria-selected={i === at} onClick={() => open(h)}><span class="clip"><Text>{h.name}</Text></span><span class="soft">{h.what}</span></li>)}</ul>
      {patterns.error && !id && <Failure error={patterns.error} old={patterns.data !== undefined} again={patterns.reload} />}{further.error && <Failure error={further.error} again={further.reload} />}
      {shown.length === 0 && !patterns.error && !further.error && <p class="soft">Nothing fits.</p>}</div>
  </Dialog>;
}
