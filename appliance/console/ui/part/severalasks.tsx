// One answer to several questions: each of them is shown, and what came of it.

import { useState } from "preact/hooks";
import { answer, type Ask, type Option, type Say } from "../store/ask.ts";
import { ToolInput, refusal } from "./answerbox.tsx";
import { Dialog, useEach } from "./dialog.tsx";
import { Text, count, plural } from "./text.tsx";

/** The options that all of them have. */
export function shared(asks: Ask[]): Option[] {
  const of = (a: Ask): Option[] => (a.options.length > 0 || a.kind !== "approval" ? a.options : [{ id: "allow", label: "Allow" }, { id: "deny", label: "Deny" }]);
  return asks.length === 0 ? [] : of(asks[0]!).filter((o) => asks.every((a) => of(a).some((p) => p.id === o.id)));
}

export function Several({ asks, close }: { asks: Ask[]; close: (done: ReadonlySet<string>) => void }) {
  const { state, said, out, run: each, end } = useEach(close);
  const [text, setText] = useState("");
  const options = shared(asks);
  const plain = asks.every((a) => a.kind !== "approval");
  const run = (say: Say) => each(asks.map((a) => a.key), async (key) => {
    await answer(asks.find((a) => a.key === key)!, say);
    return <Text>{say.choice ?? "answered"}</Text>;
  });
  return <Dialog title={`Answer ${plural(asks.length, "question")}`} close={end} wide><div class="body form">
    <table class="plain"><thead><tr><th scope="col" class="stays">Who</th><th scope="col">What</th><th scope="col" class="stays">Outcome</th></tr></thead><tbody>
      {asks.map((a) => <tr key={a.key}><td class="stays"><Text>{a.who}</Text></td><td class="wraps"><Text>{a.text}</Text>{a.tool && <> <strong><Text>{a.tool}</Text></strong><ToolInput input={a.input} label={"Input of " + a.tool} /></>}</td><td>{out[a.key]}</td></tr>)}
    </tbody></table>
    {state === "asked" && (plain || options.some((o) => refusal.test(o.id))) && <label><span>{plain ? "Answer, in your own words" : "Reason, with a refusal"}</span><textarea rows={2} value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>}
    {state === "asked" && options.length === 0 && !plain && <p class="hot">These have no option in common: answer them one by one.</p>}
  </div><footer><span class="soft" role="status">{said}</span>{state === "over" ? <button type="button" class="button main" onClick={end}>Close</button> : <>
    <button type="button" class="button" onClick={end}>{state === "busy" ? "Stop" : "Keep them open"}</button>
    {options.map((o, i) => <button type="button" key={o.id} class={"button " + (refusal.test(o.id) ? "danger" : i === 0 ? "main" : "")} disabled={state === "busy" || !plain && text.trim() !== "" && !refusal.test(o.id)}
      onClick={() => void run({ choice: o.id, text: text.trim() || undefined })}><Text>{o.label || o.id}</Text> {count(asks.length)}</button>)}
    {plain && <button type="button" class={"button" + (options.length ? "" : " main")} disabled={state === "busy" || !text.trim()} onClick={() => void run({ text: text.trim() })}>Send {count(asks.length)}</button>}</>}</footer></Dialog>;
}
