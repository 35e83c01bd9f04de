// What an agent asks, in full, and the ways to answer it.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { answer, answerCommand, type Ask } from "../store/ask.ts";
import { tabDrafts } from "../store/draft.ts";
import { href } from "../route.ts";
import { may } from "../store/session.ts";
import { Copy } from "./id.tsx";
import { useAct } from "./dialog.tsx";
import { File, editOf } from "./diff.tsx";
import { Failure } from "./notice.tsx";
import { indented } from "./json.tsx";
import { Markdown } from "./markdown.tsx";
import { OutLinkLine } from "./outlink.tsx";
import { turnMs, useSteady } from "./steady.ts";
import { Pre, Text } from "./text.tsx";
import { When } from "./time.tsx";
import { Icon } from "./icon.tsx";

/** The input of a tool, all of it: a command as text, an edit as a diff, what they leave as it is. */
export function ToolInput({ input, label }: { input: unknown; label: string }) {
  if (input === undefined || input === null) return null;
  if (typeof input === "string") return <Pre text={input} label={label} />;
  if (typeof input !== "object" || Array.isArray(input)) return <Pre text={indented(input)} label={label} />;
  const { command, ...others } = input as Record<string, unknown>;
  const said = typeof command === "string";
  const whole = said ? others : input as Record<string, unknown>;
  const edit = editOf(whole);
  const rest = edit?.rest ?? whole;
  const some = said || edit !== undefined;
  return <>
    {said && <Pre text={command} label={label} />}
    {edit && <div class="diff" role="region" aria-label={label}><File file={edit.file} /></div>}
    {(!some || Object.keys(rest).length > 0) && <Pre text={indented(rest)} label={some ? label + ", the rest" : label} />}
  </>;
}

let boxes = 0; // that are shown
let left = -turnMs; // when the last one went

/** Whether a question may be answered by a press: one that took the place of another may after a moment. */
function useSeen(key: string): boolean {
  const [first] = useState(() => (boxes > 0 || performance.now() - left < turnMs ? "" : key));
  useLayoutEffect(() => {
    boxes++;
    return () => { boxes--; left = performance.now(); };
  }, []);
  return useSteady(key, first);
}

/** Keeps a key that is held down from pressing again: what it was pressed for is answered, and another question may be there. */
function pressOnce(e: KeyboardEvent): void {
  if (e.repeat && e.key === "Enter") e.preventDefault();
}

export const refusal = /^(deny|no|reject|refuse|cancel)/i;

/** A question where it is answered, and what was typed for it. */
interface Held {
  ask: Ask;
  gone: boolean; // it waits no more
  text: string;
  box: RefObject<HTMLElement | null>;
  write(text: string): void;
  answered(): void;
  goOn(): void;
}

const draftOf = (ask: Ask): string => "answer:" + ask.key;

/**
 * What is shown of what waits at a place. A question that a person is at, by the focus or by what they typed, stays when it goes, until
 * they have answered it or go on: what they type and press was meant for it, and not for the one that comes in its place.
 */
function useHeld(now: Ask | undefined): Held | undefined {
  const [drafts] = useState(tabDrafts);
  const [typed, setTyped] = useState({ key: "", text: "" });
  const box = useRef<HTMLElement>(null);
  const shown = useRef(now);
  const left = useRef(""); // the question that the person is done with
  const moving = useRef(false);
  const textOf = (a: Ask) => (typed.key === a.key ? typed.text : drafts.get(draftOf(a)) ?? "");
  const before = shown.current;
  const stays = before && before.key !== now?.key && before.key !== left.current && (textOf(before) !== "" || box.current?.contains(document.activeElement));
  if (!stays) shown.current = now;
  const ask = shown.current;
  useLayoutEffect(() => { // what had the focus went with the question
    if (!moving.current) return;
    moving.current = false;
    (box.current ?? document.getElementById("main"))?.focus({ preventScroll: true });
  });
  if (!ask) return undefined;
  const write = (text: string) => {
    if (text) left.current = ""; // it is asked again under the same key: a login whose code was wrong
    setTyped({ key: ask.key, text });
    if (ask.kind !== "login") drafts.set(draftOf(ask), text || undefined); // a code is kept nowhere
  };
  const answered = () => { left.current = ask.key; write(""); };
  return { ask, gone: ask.key !== now?.key, text: textOf(ask), box, write, answered, goOn: () => { moving.current = true; answered(); } };
}

/** What became of a question that waits no more, and the way on from it. */
interface Ended { how: ComponentChildren; at?: string; next: () => void }

/** Lets a person know that a question waits no more: of a place that knows what became of it, who answered and what. */
function EndedNotice({ of, more, onward }: { of?: Ended; more?: string; onward: () => void }) {
  return <div class={of ? "notice good" : "notice"}><div><div role="status">{of?.how ?? "It waits for no answer any more."}{more && <div class="soft">{more}</div>}</div>{of?.at && <span class="soft"><When at={of.at} /></span>}</div>
    <button type="button" class="button" onClick={onward}>{of ? "Next" : "Go on"}</button></div>;
}

interface Props { ask?: Ask; around?: (box: ComponentChildren) => ComponentChildren; done?: () => void; keys?: boolean; ended?: Ended }

/** What waits at a place, if anything does, and the ways to answer it. `around` is what stands around it there, `ended` what became of what waited. */
export function AnswerBox({ ask, around, done, keys, ended }: Props) {
  const held = useHeld(ask);
  if (!held) return ended ? <EndedNotice of={ended} onward={ended.next} /> : null;
  const box = <Box of={held} done={done} keys={keys} ended={ended} />;
  return <>{around ? around(box) : box}</>;
}

function Box({ of: { ask, gone, text, box, write, answered, goOn }, done, keys, ended }: { of: Held; done?: () => void; keys?: boolean; ended?: Ended }) {
  const [choice, setChoice] = useState("");
  const a = useAct();
  const open = useSeen(ask.key) && !gone;
  useEffect(() => { setChoice(""); a.clear(); }, [ask.key]);
  const options = ask.options.length > 0 ? ask.options : ask.kind === "approval" ? [{ id: "allow", label: "Allow" }, { id: "deny", label: "Deny" }] : [];
  const allowed = may({ question: "executions.answer", thread: "threads.answer", agent: "agents.answer" }[ask.source]);
  const takesText = ask.kind === "approval" ? options.some((o) => refusal.test(o.id)) : true;
  const send = (say: { choice?: string; text?: string }) => {
    if (open) void a.act(() => answer(ask, say)).then((ok) => { if (ok) { answered(); done?.(); } });
  };
  const say = () => { if (ask.kind !== "approval" && text.trim()) send({ text: text.trim() }); };
  // As a line for a shell: words that were typed are an answer, or the reason of a refusal; without them it is the first option.
  const said = () => {
    const words = text.trim() || undefined;
    if (ask.kind !== "approval") return words ? { text: words } : { choice: options[0]?.id };
    return { choice: (words ? options.find((o) => refusal.test(o.id)) ?? options[0] : options[0])?.id, text: words };
  };
  const choose = (o: { id: string; label: string }) => {
    if (!open) return;
    const reason = text.trim();
    if (reason && !refusal.test(o.id) && ask.kind === "approval") return; // the text is a reason to refuse: said beside the button
    setChoice(o.id);
    send({ choice: o.id, text: reason || undefined });
  };
  useLayoutEffect(() => { // as soon as it is there: the next key may be for it
    if (!keys) return;
    const press = (e: Event) => {
      const n = (e as CustomEvent<number>).detail;
      const buttons = document.querySelectorAll<HTMLButtonElement>(".answerbox [data-option]");
      buttons[n - 1]?.focus(); // a digit chooses, Enter gives: no single key decides
    };
    addEventListener("wardroom-digit", press);
    return () => removeEventListener("wardroom-digit", press);
  }, [keys, ask.key]);
  return <section ref={box} tabIndex={-1} class="answerbox" aria-label="Answer">
    {gone && !a.busy && <EndedNotice of={ended} more={text && "What you typed stays here until you go on."} onward={() => { goOn(); ended?.next(); }} />}
    <div class="asked">{ask.kind === "approval" && ask.tool ? <p><Text>{ask.text}</Text></p> : <Markdown text={ask.text} label="What is asked" />}</div>
    {ask.tool && <p class="tool"><Icon name="tool" /> <strong><Text>{ask.tool}</Text></strong></p>}
    <ToolInput input={ask.input} label={"Input of " + (ask.tool ?? "the tool")} />
    {ask.url && <OutLinkLine to={ask.url} label="Log in at" />}
    {a.error && <Failure error={a.error} />}
    {!allowed && <p class="soft">You may read this, and not answer it.</p>}
    {allowed && <div class="answers" onKeyDown={pressOnce} onKeyPress={pressOnce}>
      {options.map((o, i) => <button type="button" key={o.id} data-option={o.id} class={"button " + (refusal.test(o.id) ? "danger" : i === 0 ? "main" : "")}
        disabled={a.busy || (text.trim() !== "" && ask.kind === "approval" && !refusal.test(o.id))} aria-disabled={!open} aria-busy={a.busy && choice === o.id} onClick={() => choose(o)}>
        <kbd>{i + 1}</kbd> <Text>{o.label || o.id}</Text>
      </button>)}
    </div>}
    {takesText && allowed && <form class="saying" onSubmit={(e) => { e.preventDefault(); say(); }}>
      <label><span>{ask.kind === "approval" ? "Reason, with a refusal" : ask.kind === "login" ? "Code" : options.length ? "Or in your own words" : "Answer"}</span>
        <textarea rows={ask.kind === "approval" || ask.kind === "login" ? 1 : 3} value={text} onInput={(e) => write(e.currentTarget.value)}
          onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && ask.kind !== "approval" && text.trim()) { e.preventDefault(); say(); } }} />
      </label>
      {ask.kind !== "approval" && <button type="submit" class={"button" + (options.length ? "" : " main")} disabled={a.busy || !text.trim()} aria-disabled={!open}>Send <kbd>Ctrl+Enter</kbd></button>}
    </form>}
    <div class="links">
      {ask.agentId?.startsWith("magent_") && <a class="button" href={href("/agents/" + ask.agentId + "?tab=terminal")}><Icon name="terminal" />Open terminal</a>}
      {ask.threadId && <a class="button" href={href("/threads/" + ask.threadId)}><Icon name="threads" />Open thread</a>}
      <Copy text={() => answerCommand(ask, said())} label="Copy as CLI">Copy as CLI</Copy>
    </div>
  </section>;
}
