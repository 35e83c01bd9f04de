// The changes of a thread, to be looked through by key, with remarks on lines that go to its agent as one message.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, post, seg, word } from "../api/client.ts";
import type { ThreadBody, ThreadDiffBody } from "../api/types.gen.ts";
import { useAct } from "../part/dialog.tsx";
import { parseDiff, type DiffFile, type DiffLine } from "../part/diff.tsx";
import { Command, Empty, Failure, NotKept, Waiting } from "../part/notice.tsx";
import { Line, Text, count, plural, reveal } from "../part/text.tsx";
import { queryOf, setQuery } from "../route.ts";
import { tabDrafts, useOnce, type Drafts } from "../store/draft.ts";
import { useLoad } from "../store/load.ts";
import { messageOf, moved, movedAll, paired, placeOf, sameRemark, sameText, type Remark } from "../store/remarks.ts";
import { may } from "../store/session.ts";

const shownLines = 400;

function kept(drafts: Drafts, id: string): Remark[] {
  try {
    return JSON.parse(drafts.get("remarks:" + id) ?? "[]") as Remark[];
  } catch {
    return [];
  }
}

const keep = (drafts: Drafts, id: string, list: Remark[]): boolean => drafts.set("remarks:" + id, list.length > 0 ? JSON.stringify(list) : undefined);

/** The line that a remark is written on, and what is written by now. The line may move while the agent works. */
interface Open { file: string; line: number; old: boolean; code: string; text?: string }

// What is being written outlives a look at another tab, too.
function begun(drafts: Drafts, id: string): Open | undefined {
  try {
    return JSON.parse(drafts.get("remark:" + id) ?? "") as Open;
  } catch {
    return undefined;
  }
}

interface Review { remarks: Remark[]; open?: Open; write: (text: string) => void; begin?: (file: string, l: DiffLine) => void; put: (r: Remark) => void; drop: (r: Remark) => void; close: () => void; split: boolean }

export function Changes({ thread: t, sent }: { thread: ThreadBody; sent: () => void }) {
  const id = t.id;
  const diff = useLoad("diff:" + id, (signal) => get<ThreadDiffBody>(`/api/managed-threads/${seg(id)}/diff`, {}, signal), { on: (e) => e.subject === id && e.type === "thread_turn_complete" });
  const files = useMemo(() => {
    const seen = new Map<string, number>(); // git writes a file whose type changed as two
    return parseDiff(diff.data?.patch ?? "").map((file) => { const n = seen.get(file.path) ?? 0; seen.set(file.path, n + 1); return { ...file, key: n + file.path }; });
  }, [diff.data]);
  const [drafts] = useState(tabDrafts);
  const [remarks, setRemarks] = useState<Remark[]>(() => kept(drafts, id));
  const latest = useRef(remarks); // some may be written while others are sent
  latest.current = remarks;
  const [open, setOpen] = useState(() => begun(drafts, id));
  useLayoutEffect(() => {
    setOpen((o) => o && moved(o, files));
    if (diff.data) setRemarks((list) => movedAll(list, files));
  }, [files]);
  const [told, setTold] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const once = useOnce(drafts, "remarks:" + id);
  const a = useAct();
  const over = ["completed", "failed", "stopped"].includes(t.status);
  const takes = !over && may("threads.send");
  const [isKept, setKept] = useState(true);
  const set = (list: Remark[]) => { setRemarks(list); setKept(keep(drafts, id, list)); setTold(""); };
  const back = () => { const at = open; setOpen(undefined); drafts.set("remark:" + id, undefined); requestAnimationFrame(() => at && (box.current?.querySelector<HTMLElement>(`tr[data-place="${CSS.escape(at.file + ":" + at.line + ":" + at.old)}"]`) ?? box.current)?.focus()); };
  const review: Review = {
    remarks, open, split: queryOf("view") === "split", close: back,
    write: (text) => { open!.text = text; drafts.set("remark:" + id, JSON.stringify(open)); }, // the form is made anew where its line moves
    begin: takes ? (file, l) => { const at = placeOf(l); if (at) setOpen({ file, ...at, code: l.text }); } : undefined,
    put: (r) => { set([...remarks.filter((o) => !sameRemark(o, r.file, r)), r]); back(); },
    drop: (r) => {
      const left = remarks.filter((o) => o !== r);
      if (left.length === 0 && !a.busy) once.over(); // given up: the same ones, made later, are another message
      set(left);
    },
  };
  useEffect(() => {
    const press = (e: Event) => {
      const what = (e as CustomEvent<string>).detail;
      const el = box.current;
      if (!el) return;
      const at = document.activeElement as HTMLElement | null;
      const step = (selector: string, by: number) => {
        const all = [...el.querySelectorAll<HTMLElement>(selector)].filter((x) => x.offsetParent);
        const after = (x: HTMLElement) => at !== null && el.contains(at) ? Boolean(at.compareDocumentPosition(x) & (by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING)) : true;
        const to = by > 0 ? all.find((x) => x !== at && after(x)) : all.findLast((x) => x !== at && after(x));
        to?.focus();
        to?.scrollIntoView({ block: "nearest" });
      };
      switch (what) {
        case "problem": step("details.file > summary", 1); break;
        case "problem before": step("details.file > summary", -1); break;
        case "part": step("tr.hunk", 1); break;
        case "part before": step("tr.hunk", -1); break;
        case "remark": at?.closest("tr[data-place]")?.querySelector<HTMLElement>("button.remark")?.click();
      }
    };
    addEventListener("wardroom-key", press);
    return () => removeEventListener("wardroom-key", press);
  }, []);
  const keys = (e: KeyboardEvent) => {
    const row = e.target as HTMLElement;
    if (!row.matches("tr[data-index]") || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Enter") { row.querySelector<HTMLElement>("button.remark")?.click(); e.preventDefault(); return; }
    const all = [...box.current!.querySelectorAll<HTMLElement>("tr[data-index]")].filter((x) => x.offsetParent);
    const to = { ArrowDown: all[all.indexOf(row) + 1], ArrowUp: all[all.indexOf(row) - 1] }[e.key];
    if (!to) return;
    to.focus();
    to.scrollIntoView({ block: "nearest" });
    e.preventDefault();
  };
  if (!diff.data) return diff.error ? <Failure error={diff.error} again={diff.reload} /> : <Waiting />;
  const d = diff.data;
  const send = () => {
    if (a.busy) return;
    const message = messageOf(remarks);
    const answer = post(`/api/managed-threads/${seg(id)}/send`, { message }, once.keyOf(message));
    answer.then(() => once.over(), once.over);
    void a.act(() => answer).then((ok) => { if (ok) { const n = remarks.length; set(latest.current.filter((r) => !remarks.some((o) => sameText(o, r)))); setTold(n === 1 ? "The remark is sent." : `${n} remarks are sent as one message.`); sent(); } });
  };
  return <div class="changes">
    <div class="bar"><strong>{plural(files.length, "file")}</strong> <span class="added">+{count(files.reduce((n, f) => n + f.added, 0))}</span> <span class="removed">&minus;{count(files.reduce((n, f) => n + f.removed, 0))}</span>
      <span class="soft">against <span class="mono">{d.baseCommit.slice(0, 10)}</span></span>
      <button type="button" class="chip" aria-pressed={review.split} onClick={() => setQuery({ view: review.split ? "" : "split" })}>side by side</button><button type="button" class="chip" aria-pressed={queryOf("wrap") !== "off"} onClick={() => setQuery({ wrap: queryOf("wrap") === "off" ? "" : "off" })}>wrap</button>
      <span class="push" />{t.workspace?.path && <Command text={`git fetch ${word(t.workspace.path)} ${word(d.workBranch || "HEAD")}`} />}</div>
    {d.truncated && <p class="notice">The patch is longer than 1 MiB and is cut: <Command text={`wardroom thread diff ${id} --max-bytes 16777216`} /></p>}
    {diff.error && <Failure error={diff.error} old again={diff.reload} />}
    <div tabIndex={0} class={"scrolls" + (queryOf("wrap") === "off" ? " unwrapped" : "")} ref={box} onKeyDown={keys}>
      {files.length === 0 ? <Empty title="Nothing changed yet" /> : files.map((f) => <ReviewFile key={f.key} file={f} open={files.length <= 30} review={review} />)}</div>
    {told && <p class="bar" role="status">{told}</p>}
    {open && !files.some((f) => f.path === open.file && f.lines.some((l) => isAt(open, l))) && <section class="composer" aria-label="Remark"><p class="soft" role="status">The line is not there any more: <span class="mono">{reveal(open.file)}:{open.line}</span></p>
      <RemarkForm open={open} text="" place={`${open.file}:${open.line}`} write={review.write} put={(text) => review.put({ file: open.file, line: open.line, old: open.old, code: open.code, text })} close={back} /></section>}
    {remarks.length > 0 && <section class="composer" aria-label="Remarks"><details class="queue" open={remarks.length < 4}><summary>{plural(remarks.length, "remark")}</summary><ul>{remarks.map((r) => <li key={r.file + r.line + r.old + r.code}><span class="mono soft">{reveal(r.file)}:{r.line}</span><span class="clip"><Text>{r.text}</Text></span><button type="button" class="link" onClick={() => review.drop(r)}>take away</button></li>)}</ul></details>
      {a.error && <Failure error={a.error} />}{!isKept && <NotKept />}{!takes && <p class="soft">{over ? "The thread is over: nothing can be sent to it any more." : "You may not send to this thread."}</p>}
      {takes && <button type="button" class="button main" disabled={a.busy} onClick={send}>Send {plural(remarks.length, "remark")} as one message</button>}</section>}
  </div>;
}

/** Whether a remark is being written on a line. */
const isAt = (o: Open, l: DiffLine): boolean => { const at = placeOf(l); return at !== undefined && at.line === o.line && at.old === o.old; };

const sign = (l: DiffLine): string => (l.kind === "add" ? "+" : l.kind === "del" ? "\u2212" : "");
const code = (l: DiffLine) => <Line text={l.text} />;

function ReviewFile({ file: f, open, review }: { file: DiffFile; open: boolean; review: Review }) {
  const [size, setSize] = useState(shownLines);
  const pairs = useMemo(() => (review.split ? paired(f.lines) : []), [f, review.split]);
  const total = review.split ? pairs.length : f.lines.length;
  const mark = (l: DiffLine) => review.begin && placeOf(l) && <button type="button" class="remark" tabIndex={-1} aria-label={`Remark on line ${placeOf(l)!.line}`} onClick={() => review.begin!(f.path, l)}>+</button>;
  const below = (l: DiffLine, columns: number) => {
    const at = placeOf(l);
    if (!at) return null;
    const mine = review.remarks.find((r) => sameRemark(r, f.path, { ...at, code: l.text }));
    const editing = review.open && review.open.file === f.path && isAt(review.open, l);
    if (!mine && !editing) return null;
    return <tr class="said-here"><td colSpan={columns}>{editing ? <RemarkForm open={review.open!} text={mine?.text ?? ""} place={`${f.path}:${at.line}`} write={review.write} put={(text) => review.put({ file: f.path, ...at, code: review.open!.code, text })} close={review.close} />
      : <div class="said you"><Text>{mine!.text}</Text> <button type="button" class="link" onClick={() => review.begin?.(f.path, l)}>change</button> <button type="button" class="link" onClick={() => review.drop(mine!)}>take away</button></div>}</td></tr>;
  };
  const place = (l: DiffLine) => { const at = placeOf(l); return at && f.path + ":" + at.line + ":" + at.old; };
  return <details class="file" open={open}>
    <summary><span class="mono">{reveal(f.path || "file")}</span> <span class="added">+{count(f.added)}</span> <span class="removed">&minus;{count(f.removed)}</span></summary>
    {f.binary ? <p class="soft">A binary file: its content is not shown.</p> : <div class="scroll" role="region" tabIndex={0} aria-label={"Changes of " + f.path}>
      <table class={"lines" + (review.split ? " split-lines" : "")}>{review.split && <colgroup><col class="no" /><col class="sign" /><col /><col class="no" /><col class="sign" /><col /></colgroup>}<tbody>{review.split ? pairs.slice(0, size).map((p, i) => {
        if (p.whole) return <tr key={i} class={p.whole.kind} data-index={i} tabIndex={-1}><td class="line" colSpan={6}>{code(p.whole)}</td></tr>;
        const l = (p.right ?? p.left)!;
        return [<tr key={i} data-index={i} data-place={place(l)} tabIndex={-1}>
          <td class="no">{p.left?.before ?? ""}</td><td class={"sign " + (p.left?.kind ?? "none")}>{p.left && sign(p.left)}</td><td class={"line " + (p.left?.kind ?? "none")}>{p.left && code(p.left)}</td>
          <td class="no">{mark(l)}{p.right?.after ?? ""}</td><td class={"sign " + (p.right?.kind ?? "none")}>{p.right && sign(p.right)}</td><td class={"line " + (p.right?.kind ?? "none")}>{p.right && code(p.right)}</td></tr>, below(l, 6)];
      }) : f.lines.slice(0, size).map((l, i) => [<tr key={i} class={l.kind} data-index={i} data-place={place(l)} tabIndex={-1}>
        <td class="no">{l.before ?? ""}</td><td class="no">{mark(l)}{l.after ?? ""}</td><td class="sign">{sign(l)}</td><td class="line">{code(l)}</td></tr>, below(l, 4)])}</tbody></table></div>}
    {!f.binary && total > size && <button type="button" class="link" onClick={() => setSize(size * 4)}>Show more: {count(total - size)} further lines</button>}
  </details>;
}

function RemarkForm({ open, text, place, write: keep, put, close }: { open: Open; text: string; place: string; write: (text: string) => void; put: (text: string) => void; close: () => void }) {
  const [now, setNow] = useState(open.text ?? text);
  const write = (v: string) => { setNow(v); keep(v); };
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []); // before the next key, which a form that is made anew would miss
  return <form class="remarking" onSubmit={(e) => { e.preventDefault(); if (now.trim()) put(now.trim()); }}><label><span class="sr">Remark on {place}</span><textarea ref={field} rows={2} value={now} placeholder="Remark on this line" onInput={(e) => write(e.currentTarget.value)}
    onKeyDown={(e) => { if (e.key === "Escape") { e.preventDefault(); e.stopPropagation(); close(); } else if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && now.trim()) { e.preventDefault(); put(now.trim()); } }} /></label>
    <div class="line"><button type="submit" class="button" disabled={!now.trim()}>Keep it <kbd>Ctrl+Enter</kbd></button><button type="button" class="link" onClick={close}>leave it</button></div></form>;
}
