// Signing in, by the ways that the server has, and what there is to know of oneself.

import { useState } from "preact/hooks";
import { del, get, seg } from "../api/client.ts";
import { base } from "../base.ts";
import { Dialog, useAct } from "../part/dialog.tsx";
import { Failure, Waiting } from "../part/notice.tsx";
import { Rest } from "../part/rest.tsx";
import { useFocusOnward } from "../part/rowfocus.ts";
import { Text } from "../part/text.tsx";
import { When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { place } from "../route.ts";
import { useLoad } from "../store/load.ts";
import { may, readMethods, session, signIn, signOut, type Methods } from "../store/session.ts";

const providers: Record<string, string> = { okta: "Okta", azure: "Microsoft", google: "Google" };

/** The page of those who are not known yet: nothing else is shown, and nothing else was asked for. */
export function SignInPage() {
  useTitle("Sign in");
  return <main class="sign-in" id="main"><h1>Sign in to Wardroom</h1><SignInForm /></main>;
}

/** The same over a page whose session has ended: what is on it stays. */
export function SignInDialog() {
  return <Dialog title="Sign in again" close={() => undefined}><div class="body"><SignInForm /></div></Dialog>;
}

function SignInForm() {
  const methods = useLoad("sign-in-methods", readMethods);
  if (!methods.data) return methods.error ? <Failure error={methods.error} again={methods.reload} /> : <Waiting />;
  const m: Methods = methods.data;
  const { path, query } = place.value;
  const back = base + path + (query.toString() ? "?" + query.toString() : "");
  return <div class="form">
    {m.sso && <p><a class="button main" href={base + (m.loginUrl ?? "/auth/login") + "?returnTo=" + encodeURIComponent(back)}>Sign in with {providers[m.provider ?? ""] ?? "your organization"}</a></p>}
    {m.apiKey && <KeyForm second={m.sso} />}
    {!m.sso && !m.apiKey && <p>This server takes neither passwords nor keys from a browser. Whoever runs it can configure single sign-on or API keys.</p>}
  </div>;
}

/** Asks for an API key. It is kept in memory until a session takes its place. */
function KeyForm({ second }: { second: boolean }) {
  const [key, setKey] = useState("");
  const a = useAct();
  return <form class="form" onSubmit={(e) => { e.preventDefault(); void a.act(() => signIn(key.trim())); }}>
    {a.error && <Failure error={a.error} />}
    <label><span>API key</span><input type="password" autoFocus={!second} autocomplete="off" value={key} onInput={(e) => setKey(e.currentTarget.value)} /></label>
    <p class="soft">It is not kept in this browser: a session takes its place, or it is gone with the last tab.</p>
    <p><button type="submit" class={"button" + (second ? "" : " main")} disabled={a.busy || !key.trim()}>Sign in{second ? " by key" : ""}</button></p>
  </form>;
}

interface Own { id: string; kind: string; method: string; address?: string; client?: string; createdAt: string; lastUsedAt: string; expiresAt: string; current?: boolean }

/** Another session of the same person, and the way to end it. */
function Other({ of: o, a, ended }: { of: Own; a: ReturnType<typeof useAct>; ended: () => void }) {
  const line = useFocusOnward<HTMLLIElement>((li) => li.closest("dialog")?.querySelector("footer button"));
  return <li ref={line} class="line"><span>{o.kind === "cli" ? "command line" : "browser"}</span><span class="soft clip"><Text>{[o.address, o.client].filter(Boolean).join(", ")}</Text></span><span class="push" /><span class="soft">used <When at={o.lastUsedAt} /></span>
    <button type="button" class="button small" disabled={a.busy} onClick={() => void a.act(() => del("/api/auth/sessions/" + seg(o.id))).then(ended)}>End it</button></li>;
}

/** Who one is, how long, with what rights; and the way out. */
export function Account({ close }: { close: () => void }) {
  const s = session.value;
  const a = useAct();
  const own = useLoad(s?.sessionId && may("sessions.read") ? "own-sessions" : "", (signal) => get<{ sessions: Own[]; total: number; hasMore: boolean }>("/api/auth/sessions", { limit: 100 }, signal));
  if (!s) return null;
  const lists: [string, string[]][] = [["Roles", s.roles], ["Groups", s.groups], ["Scopes", s.scopes]];
  const others = (own.data?.sessions ?? []).filter((o) => !o.current);
  return <Dialog title="Who you are" close={close}>
    <div class="body">
      {!s.authenticated ? <p>This server asks nobody who they are: it is for one machine, or its security is not configured.</p> : <dl class="facts">
        <div><dt>Name</dt><dd><Text>{s.name || s.id}</Text></dd></div>
        <div><dt>In records</dt><dd class="mono"><Text>{s.id}</Text></dd></div>
        <div><dt>Known by</dt><dd>{s.sessionId ? "a session of this browser" : s.kind === "apiKey" ? "an API key, kept in memory" : s.kind}</dd></div>
        {lists.map(([name, list]) => list.length > 0 && <div key={name}><dt>{name}</dt><dd>{list.map((v) => <span key={v} class="badge"><Text>{v}</Text></span>)}</dd></div>)}
        {s.expiresAt && <div><dt>Ends</dt><dd><When at={s.expiresAt} /></dd></div>}
      </dl>}
      {own.error && <Failure error={own.error} again={own.reload} />}
      {others.length > 0 && <><h3>Your other sessions</h3><ul class="plain">{others.map((o) => <Other key={o.id} of={o} a={a} ended={own.reload} />)}</ul></>}
      {own.data?.hasMore && <Rest shown={own.data.sessions.length} total={own.data.total} command="wardroom auth sessions list --all" />}
      {a.error && <Failure error={a.error} />}
    </div>
    {s.authenticated && (s.sessionId || s.kind === "apiKey") && <footer><button type="button" class="button" onClick={close}>Close</button><button type="button" class="button main" disabled={a.busy} onClick={() => void a.act(signOut).then((ok) => { if (ok) close(); })}>Sign out</button></footer>}
  </Dialog>;
}
