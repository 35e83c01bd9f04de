// The editor of a pattern: its text with what the server says of each line, kept in this browser until it is stored.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, call, freshKey, get, seg } from "../api/client.ts";
import type { Pattern, PatternCreated, Problem, Validation } from "../api/types.gen.ts";
import { useAct } from "../part/dialog.tsx";
import { Diff } from "../part/diff.tsx";
import { Failure } from "../part/notice.tsx";
import { State } from "../part/state.tsx";
import { Text, plural, revealed } from "../part/text.tsx";
import { onward } from "../route.ts";
import { longDrafts, ofTab } from "../store/draft.ts";
import { lineDiff } from "../store/linediff.ts";
import { useLoad } from "../store/load.ts";
import { offers, words, type Offer, type Schema } from "../store/schema.ts";
import { outline } from "../store/yamlplace.ts";
import { Drawing } from "./drawing.tsx";

const lineHeight = 18; // as the style has it
const padding = 8;
const maxOffered = 3; // drafts of other tabs; the next ones come when these are taken or forgotten

/** A field at the top of a definition, as it is written. */
const field = (text: string, name: string): string => new RegExp(`^${name}:\\s*["']?([^"'#\\n]+?)["']?\\s*(?:#.*)?$`, "m").exec(text)?.[1] ?? "";

/** The version after one: its last number is raised. */
export const raised = (version: string): string => version.replace(/(\d+)(?!.*\d)/, (n) => String(Number(n) + 1));

export function PatternEditor({ name, source, fresh }: { name: string; source: string; fresh?: boolean }) {
  const subject = name || "new";
  const key = ofTab(subject);
  const [drafts] = useState(longDrafts);
  const [text, setText] = useState(() => drafts.get(key) ?? source);
  const [check, setCheck] = useState<{ text: string; problems: Problem[] } | undefined>();
  const [other, setOther] = useState<Pattern | undefined>();
  const [once, setOnce] = useState(freshKey);
  const [stored, setStored] = useState("");
  const latest = useRef(text);
  latest.current = text;
  const a = useAct();
  const area = useRef<HTMLTextAreaElement>(null);
  const beside = useRef<HTMLDivElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const changed = text !== source;
  const rules = useLoad("pattern-schema", (signal) => get<Schema>("/api/schemas/pattern", {}, signal));
  const schema = rules.data;
  const [list, setList] = useState<{ offers: Offer[]; chosen: number; row: number; from: number; col: number } | undefined>();
  const [spot, setSpot] = useState<{ row: number; col: number } | undefined>();
  const [drawn, setDrawn] = useState(innerWidth > 1100);
  const [definition, setDefinition] = useState<unknown>();
  const help = useMemo(() => {
    if (!schema || !spot) return undefined;
    const o = outline(text, spot.row, spot.col);
    const path = o.lines.get(spot.row) ?? o.place?.path;
    if (!path || path.length === 0) return undefined;
    return { path: path.join("."), words: words(schema, path, o) };
  }, [schema, text, spot]);
  const [kept, setKept] = useState(true);
  const put = (t: string) => setKept(drafts.set(key, t !== source ? t : undefined)); // at once: the tab may be closed with the next key
  useLayoutEffect(() => put(text), [source]); // before something is typed
  const [others, setOthers] = useState(() => drafts.others(subject));
  useEffect(() => {
    const look = (e: StorageEvent) => {
      if (e.newValue === null && latest.current !== source && drafts.get(key) === undefined) drafts.set(key, latest.current); // another tab took it over: it is still written here
      setOthers(drafts.others(subject));
    };
    addEventListener("storage", look);
    return () => removeEventListener("storage", look);
  }, [key]);
  const leave = (of: string) => { drafts.set(of, undefined); setOthers(drafts.others(subject)); area.current!.focus(); };
  const takeOver = (of: string) => {
    const there = drafts.get(of);
    if (there === undefined) { leave(of); return; }
    write(there); // which keeps it, before the other is gone
    leave(of);
  };
  useEffect(() => {
    const abort = new AbortController();
    const t = setTimeout(() => {
      call<Validation>("POST", "/api/patterns/validate", { body: { definition: text }, signal: abort.signal }).then(
        (v) => { setCheck({ text, problems: v.problems }); if (v.definition) setDefinition(v.definition); },
        (err: unknown) => { if (!abort.signal.aborted) setCheck({ text, problems: [{ path: "", reason: err instanceof ApiError ? err.message : String(err) }] }); });
    }, 350);
    return () => { clearTimeout(t); abort.abort(); };
  }, [text]);
  const write = (t: string) => { setText(t); put(t); setOther(undefined); setStored(""); setOnce(freshKey()); a.clear(); };
  const scroll = () => {
    const el = area.current!;
    gutter.current!.style.transform = `translateY(${-el.scrollTop}px)`;
    beside.current!.style.transform = `translate(${-el.scrollLeft}px, ${-el.scrollTop}px)`;
  };
  const place = (el: HTMLTextAreaElement): { row: number; col: number } => {
    const before = el.value.slice(0, el.selectionStart).split("\n");
    return { row: before.length - 1, col: before.at(-1)!.length };
  };
  /** Looks for what may be written at the caret; unasked only where something was begun. */
  const look = (asked: boolean) => {
    const el = area.current!;
    if (!schema || el.selectionStart !== el.selectionEnd) { setList(undefined); return; }
    const { row, col } = place(el);
    const o = outline(el.value, row, col);
    const p = o.place;
    if (!p || !asked && !p.prefix) { setList(undefined); return; }
    const now = p.at === "key" ? { ...o, values: new Map([...o.values].filter(([k]) => k !== [...p.path, p.prefix].join("/"))) } : o;
    const fit = offers(schema, p.path, p.at, now).filter((f) => f.text.toLowerCase().startsWith(p.prefix.toLowerCase()) && (asked || f.text !== p.prefix)).slice(0, 100);
    setList(fit.length > 0 ? { offers: fit, chosen: 0, row, from: p.from, col } : undefined);
  };
  const take = (f: Offer) => {
    const el = area.current!;
    const l = list!;
    const end = el.selectionStart;
    el.focus();
    el.setSelectionRange(end - (l.col - l.from), end);
    const made = f.key ? f.text + (/^\s*:/.test(el.value.slice(end)) ? "" : ": ") : f.text;
    if (!document.execCommand("insertText", false, made)) { // it alone can be undone
      el.setRangeText(made, end - (l.col - l.from), end, "end");
      write(el.value);
    }
    setList(undefined);
  };
  const press = (e: KeyboardEvent) => {
    if (e.ctrlKey && e.key === " ") { e.preventDefault(); look(true); return; }
    if (!list) return;
    const n = list.offers.length;
    switch (e.key) {
      case "ArrowDown": setList({ ...list, chosen: (list.chosen + 1) % n }); break;
      case "ArrowUp": setList({ ...list, chosen: (list.chosen + n - 1) % n }); break;
      case "Enter": case "Tab": take(list.offers[list.chosen]!); break;
      case "Escape": setList(undefined); break;
      default: return;
    }
    e.preventDefault();
    e.stopPropagation();
  };
  const hover = (e: MouseEvent) => {
    const el = area.current!;
    const r = el.getBoundingClientRect();
    const row = Math.floor((e.clientY - r.top + el.scrollTop - padding) / lineHeight);
    setSpot((s) => (s?.row === row ? s : { row, col: 0 }));
  };
  const lines = text.split("\n");
  const problems = check?.problems ?? [];
  const bad = new Map<number, Problem[]>();
  for (const p of problems) if (p.line) bad.set(p.line, [...(bad.get(p.line) ?? []), p]);
  const show = (p: Problem) => {
    const el = area.current!;
    const line = Math.min(p.line ?? 1, lines.length);
    const at = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0) + Math.min((p.column ?? 1) - 1, lines[line - 1]!.length);
    el.focus();
    el.setSelectionRange(at, at);
    el.scrollTop = Math.max(0, (line - 4) * lineHeight);
  };
  const version = field(text, "version");
  const save = () => void a.act(async () => {
    setOther(undefined);
    const before = drafts.get(key);
    const open = onward((made: PatternCreated) => `/patterns/${seg(made.name)}?version=${encodeURIComponent(made.version)}`);
    try {
      const made = await call<PatternCreated>("POST", "/api/patterns", { body: { definition: text }, once });
      if (latest.current !== text || drafts.get(key) !== before) { // something was written meanwhile, here or after a look at another screen: it stays a draft
        setOnce(freshKey());
        setStored(made.version);
        return;
      }
      drafts.set(key, undefined);
      open(made);
    } catch (err) {
      if (err instanceof ApiError && err.code === "CONFLICT" && field(text, "name") && version) {
        setOnce(freshKey());
        const there = await get<Pattern>("/api/patterns/" + seg(field(text, "name")), { version }).catch(() => undefined);
        if (latest.current === text) setOther(there);
      }
      throw err;
    }
  });
  const next = raised(version);
  const ready = check?.text === text && problems.length === 0;
  return <div class="editing">
    <div class="bar"><span role="status">{check?.text !== text ? <span class="soft">looking at it&hellip;</span> : problems.length === 0 ? <State status="ok" word="the server would take it" /> : <State status="failed" word={plural(problems.length, "problem")} />}</span>
      <span class="push" /><button type="button" class="button" aria-pressed={drawn} onClick={() => setDrawn(!drawn)}>Drawing</button>{changed && (kept ? <span class="soft">draft, kept in this browser</span> : <span class="hot" role="status">draft, not kept as it is now: it is too long, or this browser has no room for it</span>)}{changed && <button type="button" class="button" onClick={() => write(source)}>Give it up</button>}
      {version && next !== version && <button type="button" class="button" onClick={() => write(text.replace(/^(version:\s*["']?)[^"'#\n]+?(["']?\s*(?:#.*)?)$/m, `$1${next}$2`))}>Make it {next}</button>}
      <button type="button" class="button main" disabled={a.busy || !ready || !changed && !fresh} onClick={save}>Save{version && ` as ${version}`}</button></div>
    {!changed && others.slice(0, maxOffered).map((k) => { const t = drafts.get(k) ?? ""; return <p key={k} class="bar"><span>A draft of another tab, open or closed: <strong><Text>{[field(t, "name"), field(t, "version")].filter(Boolean).join("@") || "without a name"}</Text></strong>, {plural(t.split("\n").length, "line")}</span>
      <button type="button" class="button" onClick={() => takeOver(k)}>Go on with it</button><button type="button" class="link" onClick={() => leave(k)}>forget it</button></p>; })}
    {a.error && <Failure error={a.error} />}{rules.error && !schema && <Failure error={rules.error} again={rules.reload} />}
    {stored && <p class="notice good" role="status">Version {stored} is stored, without what was written since: that is a draft.</p>}
    {other && <div class="both"><p class="hot">There is a version {version} already, with another text. Removed lines are of the stored one, added lines of yours. Give yours another version to keep both.</p>
      {lineDiff(other.name, other.source ?? "", text) ? <Diff text={lineDiff(other.name, other.source ?? "", text)} label="Stored version and yours" /> : <p class="soft">The texts are the same.</p>}</div>}
    <div class={"desk" + (drawn ? " two" : "")}><div class="sheet"><div class="gutter" aria-hidden="true"><div ref={gutter}>{lines.map((_, i) => <div key={i} class={bad.has(i + 1) ? "bad" : ""}>{i + 1}</div>)}</div></div>
      <div class="paper"><textarea ref={area} class="mono" aria-label="Definition" aria-describedby="problems" wrap="off" spellcheck={false} autocomplete="off" value={text} aria-autocomplete="list" aria-controls={list ? "offers" : undefined} aria-activedescendant={list ? "offer-" + list.chosen : undefined}
        onInput={(e) => { write(e.currentTarget.value); look(false); }} onScroll={() => { scroll(); setList(undefined); }} onKeyDown={press} onBlur={() => setList(undefined)} onMouseMove={hover} onMouseLeave={() => setSpot(place(area.current!))}
        onSelect={(e) => { const at = place(e.currentTarget); setSpot(at); setList((l) => (l && (l.row !== at.row || l.col !== at.col) ? undefined : l)); }} />
        <div class="beside" aria-hidden="true"><div ref={beside}>{[...bad].map(([line, list]) => <span key={line} style={{ top: padding + (line - 1) * lineHeight + "px", left: `calc(${(lines[line - 1] ?? "").length + 2}ch + ${padding}px)` }}>{revealed(list.map((p) => p.reason).join("; "))}</span>)}</div></div>
        {list && <ul id="offers" class="offers" role="listbox" aria-label="What may stand here" style={{ top: padding + (list.row + 1) * lineHeight - (area.current?.scrollTop ?? 0) + "px", left: `calc(${list.from}ch + ${padding - (area.current?.scrollLeft ?? 0)}px)` }}>
          {list.offers.map((f, i) => <li key={f.text} id={"offer-" + i} role="option" aria-selected={i === list.chosen} ref={i === list.chosen ? (el) => el?.scrollIntoView({ block: "nearest" }) : undefined} onMouseDown={(e) => { e.preventDefault(); take(f); }}><span class="mono">{f.text}</span> <span class="soft">{f.words}</span></li>)}
        </ul>}</div></div>
      {drawn && <aside class="pane drawn" aria-label="Drawing" tabIndex={0}>{definition === undefined ? <p class="soft">The drawing comes with the first text that the server would take.</p> : <>{check && problems.length > 0 && <p class="soft">Of the last text without problems.</p>}<Drawing name="" definition={definition} /></>}</aside>}</div>
    <p class="help-line soft" role="status">{help ? <><span class="mono"><Text>{help.path}</Text></span> <Text>{help.words || "The schema says nothing of it."}</Text></> : "Ctrl+Space offers what may stand here."}</p>
    <ul id="problems" class="problems">{problems.map((p, i) => <li key={i}><button type="button" class="link" onClick={() => show(p)}>{p.line ? `${p.line}:${p.column ?? 1} ` : ""}<span class="mono"><Text>{p.path}</Text></span> <Text>{p.reason}</Text></button></li>)}</ul>
  </div>;
}
