// The terminal of an agent. The emulator comes when it is first needed.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Dialog } from "../part/dialog.tsx";
import { Icon } from "../part/icon.tsx";
import { Text } from "../part/text.tsx";
import { Pre, plural } from "../part/text.tsx";
import { address, post, seg } from "../api/client.ts";
import type { TerminalTicket } from "../api/types.gen.ts";
import { onWake } from "../live/wake.ts";
import { setting } from "../setting.ts";
import { may } from "../store/session.ts";
import type { Screen, Shown } from "../part/xterm.ts";

export function TerminalTab({ agent }: { agent: string }) {
  const box = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen>(undefined);
  const [shown, setShown] = useState<Shown>({ state: "connecting", writing: false, title: "", others: [], total: 0 });
  const [failed, setFailed] = useState("");
  const [paste, setPaste] = useState<string | undefined>();
  const [unsent, setUnsent] = useState(false); // the paste was confirmed, and could not be sent
  const [find, setFind] = useState<string | undefined>();
  const [reader, setReader] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => { if (find !== undefined) field.current?.focus(); }, [find !== undefined]);
  const wanted = useRef(reader);
  wanted.current = reader;
  useEffect(() => {
    let here = true;
    import("../part/xterm.ts").then((m) => {
      if (here && box.current) screen.current = new m.Screen(box.current, page(agent), setShown, (text) => { setPaste(text); setUnsent(false); });
      screen.current?.setReader(wanted.current);
    }, (err) => setFailed(String(err)));
    return () => { here = false; screen.current?.close(); screen.current = undefined; };
  }, [agent]);
  useEffect(() => screen.current?.setReader(reader), [reader]);
  const whole = () => { if (document.fullscreenElement) void document.exitFullscreen(); else void box.current?.parentElement?.requestFullscreen(); };
  const words: Record<Shown["state"], string> = { connecting: "connecting", live: shown.writing ? "you type" : "you look on", broken: "the connection was lost: trying again", ended: "ended" };
  const away = shown.state === "ended" ? "The terminal has ended." : shown.state !== "live" ? "The connection was lost: it can be pasted once it is back." : !shown.writing ? "You look on: it can be pasted once you take over." : "";
  const give = () => { if (screen.current?.paste(paste!)) setPaste(undefined); else setUnsent(true); };
  return <section class="terminal-tab" aria-label="Terminal">
    <div class="bar">
      <span class={"badge " + (shown.state === "live" ? (shown.writing ? "needs" : "") : "bad")} role="status">{words[shown.state]}</span>
      {shown.reason && <span class="hot"><Text>{shown.reason}</Text></span>}
      <span class="others soft" role="status">{shown.state === "live" && shown.total > 0 && <Others shown={shown} />}</span>
      {shown.title && <span class="soft clip"><Text>{shown.title}</Text></span>}
      <span class="push" />
      {find !== undefined && <form class="line" onSubmit={(e) => { e.preventDefault(); screen.current?.find(find, true); }}>
        <input ref={field} class="find" aria-label="Find in the terminal" value={find} onInput={(e) => { setFind(e.currentTarget.value); screen.current?.find(e.currentTarget.value, false); }}
          onKeyDown={(e) => { if (e.key === "Escape") { setFind(undefined); screen.current?.focus(); } }} /></form>}
      <button type="button" class="quiet" aria-label="Find" title="Find" aria-pressed={find !== undefined} onClick={() => setFind(find === undefined ? "" : undefined)}><Icon name="search" /></button>
      <button type="button" class="button" aria-pressed={reader} onClick={() => setReader(!reader)}>For screen readers</button>
      <button type="button" class="button" onClick={whole}>Full screen</button>
      {shown.state === "live" && may("agents.input") && (shown.writing
        ? <button type="button" class="button" onClick={() => screen.current?.write(false)}>Give back <kbd>Ctrl+]</kbd></button>
        : <button type="button" class="button main" onClick={() => screen.current?.write(true)}><Icon name="keys" />Take over</button>)}
    </div>
    {failed && <p class="notice bad">The terminal could not be loaded: {failed}</p>}
    <div class="terminal-box"><div ref={box} class={"terminal" + (shown.writing ? " writing" : "")} /></div>
    {paste !== undefined && <Dialog title={`Paste ${plural(paste.trimEnd().split(/\r\n?|\n/).length, "line")}?`} close={() => setPaste(undefined)} wide>
      <div class="body"><p>Each line may be run by what is in the terminal.</p><Pre text={paste} label="What is pasted" /><p class="hot" role="status">{(unsent || away) && <>Not sent. {away || "There was no connection: try again."}</>}</p></div>
      <footer><button type="button" class="button" onClick={() => setPaste(undefined)}>Do not paste</button><button type="button" class="button main" autoFocus aria-disabled={away !== ""} onClick={give}>Paste</button></footer>
    </Dialog>}
  </section>;
}

/** Who else is at the terminal: who may type is named first. */
function Others({ shown }: { shown: Shown }) {
  const names = (typing: boolean) => [...new Set(shown.others.filter((o) => Boolean(o.typing) === typing).map((o) => o.who))].join(", ");
  const [type, look] = [names(true), names(false)];
  return <>{type && <strong class="hot"><Text>{type}</Text> may type too</strong>}{type && look && "; "}{look && <><Text>{look}</Text> looks on</>}{shown.total > 1 && `, ${shown.total} others`}</>;
}

const page = (agent: string) => ({
  address: (query: Record<string, string | number | boolean>) => address(`/api/managed-agents/${seg(agent)}/terminal`, query),
  ticket: (readOnly: boolean) => post<TerminalTicket>(`/api/managed-agents/${seg(agent)}/terminal/tickets`, { readOnly }),
  dark: () => setting.peek().theme === "dark" || setting.peek().theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches,
  onTheme: (f: () => void) => setting.subscribe(f),
  onWake,
});
