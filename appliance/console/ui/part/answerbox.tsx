// What an agent asks, in full, and the ways to answer it.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { answer, answerCommand, type Ask } from "../store/ask.ts";
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

export const refusal = /^(deny|no|reject|refuse|cancel)/i;

export function AnswerBox({ ask, done, keys }: { ask: Ask; done?: () => void; keys?: boolean }) {
  const [text, setText] = useState("");
  const [choice, setChoice] = useState("");
  const a = useAct();
  const seen = useSeen(ask.key);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => { setText(""); setChoice(""); a.clear(); }, [ask.key]);
  const options = ask.options.length > 0 ? ask.options : ask.kind === "approval" ? [{ id: "allow", label: "Allow" }, { id: "deny", label: "Deny" }] : [];
  const allowed = may({ question: "executions.answer", thread: "threads.answer", agent: "agents.answer" }[ask.source]);
  const takesText = ask.kind === "approval" ? options.some((o) => refusal.test(o.id)) : true;
  const send = (say: { choice?: string; text?: string }) => void a.act(() => answer(ask, say)).then((ok) => { if (ok) done?.(); });
  // As a line for a shell: words that were typed are an answer, or the reason of a refusal; without them it is the first option.
  const said = () => {
    const words = text.trim() || undefined;
    if (ask.kind !== "approval") return words ? { text: words } : { choice: options[0]?.id };
    return { choice: (words ? options.find((o) => refusal.test(o.id)) ?? options[0] : options[0])?.id, text: words };
  };
  const choose = (o: { id: string; label: string }) => {
    if (!seen) return;
    const reason = text.trim();
    if (reason && !refusal.test(o.id) && ask.kind === "approval") return; // the text is a reason to refuse: said beside the button
    setChoice(o.id);
    send({ choice: o.id, text: reason || undefined });
  };
  useEffect(() => {
    if (!keys) return;
    const press = (e: Event) => {
      const n = (e as CustomEvent<number>).detail;
      const buttons = document.querySelectorAll<HTMLButtonElement>(".answerbox [data-option]");
      buttons[n - 1]?.focus(); // a digit chooses, Enter gives: no single key decides
    };
    addEventListener("wardroom-digit", press);
    return () => removeEventListener("wardroom-digit", press);
  }, [keys, ask.key]);
  return <section class="answerbox" aria-label="Answer">
    <div class="asked">{ask.kind === "approval" && ask.tool ? <p><Text>{ask.text}</Text></p> : <Markdown text={ask.text} label="What is asked" />}</div>
    {ask.tool && <p class="tool"><Icon name="tool" /> <strong><Text>{ask.tool}</Text></strong></p>}
    <ToolInput input={ask.input} label={"Input of " + (ask.tool ?? "the tool")} />
    {ask.url && <OutLinkLine to={ask.url} label="Log in at" />}
    {a.error && <Failure error={a.error} />}
    {!allowed && <p class="soft">You may read this, and not answer it.</p>}
    {allowed && <div class="answers">
      {options.map((o, i) => <button key={o.id} data-option={o.id} class={"button " + (refusal.test(o.id) ? "danger" : i === 0 ? "main" : "")}
        disabled={a.busy || (text.trim() !== "" && ask.kind === "approval" && !refusal.test(o.id))} aria-disabled={!seen} aria-busy={a.busy && choice === o.id} onClick={() => choose(o)}>
        <kbd>{i + 1}</kbd> <Text>{o.label || o.id}</Text>
      </button>)}
    </div>}
    {takesText && allowed && <form class="saying" onSubmit={(e) => { e.preventDefault(); if (ask.kind !== "approval" && text.trim()) send({ text: text.trim() }); }}>
      <label><span>{ask.kind === "approval" ? "Reason, with a refusal" : ask.kind === "login" ? "Code" : options.length ? "Or in your own words" : "Answer"}</span>
        <textarea ref={field} rows={ask.kind === "approval" || ask.kind === "login" ? 1 : 3} value={text} onInput={(e) => setText(e.currentTarget.value)}
          onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && ask.kind !== "approval" && text.trim()) { e.preventDefault(); send({ text: text.trim() }); } }} />
      </label>
      {ask.kind !== "approval" && <button class={"button" + (options.length ? "" : " main")} disabled={a.busy || !text.trim()}>Send <kbd>Ctrl+Enter</kbd></button>}
    </form>}
    <div class="links">
      {ask.agentId?.startsWith("magent_") && <a class="button" href={href("/agents/" + ask.agentId + "?tab=terminal")}><Icon name="terminal" />Open terminal</a>}
      {ask.threadId && <a class="button" href={href("/threads/" + ask.threadId)}><Icon name="threads" />Open thread</a>}
      <Copy text={() => answerCommand(ask, said())} label="Copy as CLI">Copy as CLI</Copy>
    </div>
  </section>;
}
