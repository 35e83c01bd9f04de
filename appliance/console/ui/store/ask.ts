// What waits for a person: questions of executions, prompts of threads and of agents, in one form, and how each is answered.

import { get, post, quote, seg } from "../api/client.ts";
import type { InboxItem, InboxList, ManagedAgentBody, QuestionBody, ThreadBody, ThreadEventList } from "../api/types.gen.ts";
import type { FeedEvent } from "../live/hub.ts";

export interface Option { id: string; label: string }

/** A prompt as agents have it. */
export interface Prompt { id?: string; kind?: string; text?: string; tool?: string; input?: unknown; options?: Option[]; url?: string }

export interface Ask {
  key: string; // of the list: the id of what asks, and of what it asks
  source: "question" | "thread" | "agent";
  kind: string; // message, approval, question, login
  id: string; // of the question, thread or agent
  executionId?: string;
  threadId?: string;
  agentId?: string;
  step?: string;
  role?: string;
  who: string;
  text: string;
  tool?: string;
  input?: unknown;
  options: Option[];
  url?: string;
  promptId?: string;
  since?: string;
  expires?: string;
}

/** What a person says to it. */
export interface Say { choice?: string; text?: string }

/** Names the prompt of an answer: a login has a name where it has no prompt, or what is typed for it would be given to whatever waits when it comes. */
const promptOf = (id: string | undefined, login: boolean): string | undefined => id ?? (login ? "login" : undefined);

export function askOfQuestion(q: QuestionBody): Ask {
  const content = q.content as { tool?: string; input?: unknown } | string | undefined;
  const parts = content && typeof content === "object" ? content : undefined;
  return {
    key: q.id, source: "question", kind: q.kind, id: q.id, executionId: q.executionId, step: q.step, role: q.role, agentId: q.agentId,
    who: q.role, text: q.text, tool: parts?.tool, input: parts?.input, options: q.options ?? [], url: q.url, promptId: q.promptId,
    since: q.createdAt, expires: q.expiresAt,
  };
}

export function askOfThread(t: ThreadBody): Ask | undefined {
  if (t.status !== "blocked") return undefined;
  const p = (t.prompt ?? {}) as Prompt;
  return {
    key: t.id + ":" + (p.id ?? "login"), source: "thread", kind: t.statusReason === "login" ? "login" : p.kind ?? "question", id: t.id, threadId: t.id,
    executionId: t.executionId, agentId: t.managedAgentId ?? undefined, role: t.role, who: t.name || t.role || t.agentType,
    text: p.text ?? (t.loginUrl ? "Its agent needs a login." : "It waits for an answer."), tool: p.tool, input: p.input, options: p.options ?? [],
    url: p.url ?? t.loginUrl, promptId: promptOf(p.id, t.statusReason === "login"), since: t.updatedAt,
  };
}

export function askOfAgent(a: ManagedAgentBody): Ask | undefined {
  if (a.statusReason !== "blocked" && a.statusReason !== "login_required") return undefined;
  const p = (a.prompt ?? {}) as Prompt;
  return {
    key: a.id + ":" + (p.id ?? "login"), source: "agent", kind: a.statusReason === "login_required" ? "login" : p.kind ?? "question", id: a.id, agentId: a.id,
    who: a.name, role: a.type, text: p.text ?? "It needs a login.", tool: p.tool, input: p.input, options: p.options ?? [], url: p.url ?? a.loginUrl,
    promptId: promptOf(p.id, a.statusReason === "login_required"), since: a.lastActivityAt,
  };
}

export function askOfItem(i: InboxItem): Ask {
  return {
    key: i.source === "execution" ? i.id : i.id + ":" + (i.promptId ?? "login"), source: sources[i.source], kind: i.kind, id: i.id, executionId: i.executionId,
    threadId: i.threadId, agentId: i.agentId, role: i.role, who: i.name || i.role || i.agentType || i.id, text: i.text || (i.kind === "login" ? "Its agent needs a login." : "It waits for an answer."),
    tool: i.tool, input: i.input, options: i.options ?? [], url: i.url, promptId: promptOf(i.promptId, i.kind === "login" && i.source !== "execution"), since: i.since, expires: i.expiresAt,
  };
}

const sources = { execution: "question", thread: "thread", managed_agent: "agent" } as const;
const pageSize = 100;
const maxRead = 500;

/** Reads what waits, the most urgent first: what runs out first, then what waits longest. Of more than 500 the newest are read. */
export async function readInbox(signal: AbortSignal): Promise<{ asks: Ask[]; total: number }> {
  const asks: Ask[] = [];
  let total = 0;
  let cursor: string | undefined;
  do {
    const page: InboxList = await get<InboxList>("/api/inbox", { limit: pageSize, cursor }, signal);
    asks.push(...page.items.map(askOfItem));
    total = page.total;
    cursor = page.hasMore ? page.nextCursor : undefined;
  } while (cursor && asks.length < maxRead);
  const due = (a: Ask) => (a.expires ? Date.parse(a.expires) : Infinity);
  asks.sort((a, b) => due(a) - due(b) || Date.parse(a.since ?? "") - Date.parse(b.since ?? "") || a.key.localeCompare(b.key));
  return { asks, total };
}

/** Whether an event changes what waits. */
export const changesInbox = (e: FeedEvent): boolean =>
  e.topics.includes("inbox") || e.type.startsWith("execution.") && e.type !== "execution.queued" && e.type !== "execution.started" ||
  e.topics.includes("threads") && e.type !== "thread_tool_running" || /^managed_agent\.(turn_complete|stopped|ready)$/.test(e.type);

/** An answer to a question as the API takes it. */
function valueOf(ask: Ask, say: Say): unknown {
  if (say.choice && say.text) return { choice: say.choice, reason: say.text };
  if (!say.choice && say.text && ask.options.length > 0) return { text: say.text };
  return say.choice ?? say.text;
}

/** Gives an answer. It fails with CONFLICT where another was first. */
export function answer(ask: Ask, say: Say): Promise<unknown> {
  if (ask.source === "question") {
    return post(`/api/executions/${seg(ask.executionId!)}/questions/${seg(ask.id)}/answer`, { answer: valueOf(ask, say) });
  }
  const path = ask.source === "thread" ? `/api/managed-threads/${seg(ask.id)}/answer` : `/api/managed-agents/${seg(ask.id)}/answer`;
  return post(path, { promptId: ask.promptId, choice: say.choice, text: say.text });
}

/** How a prompt of a thread was closed, and by whom. Events of agents cannot be read from their end: undefined. */
export async function answeredBy(ask: Ask, signal: AbortSignal): Promise<{ how: string; by?: string; at: string } | undefined> {
  if (ask.source !== "thread") return undefined;
  const page = await get<ThreadEventList>(`/api/managed-threads/${seg(ask.id)}/events`, { before: 0, type: "thread_status,thread_failed,thread_stopped", limit: 20 }, signal);
  for (const e of [...page.events].reverse()) {
    const ruling = (e.data as { ruling?: { promptId?: string; answer?: string; person?: string; by?: string; rule?: string } }).ruling;
    if (ruling && (!ask.promptId || ruling.promptId === ask.promptId)) return { how: ruling.answer ?? "answered", by: ruling.person ?? ruling.rule ?? ruling.by, at: e.timestamp };
    if (e.type !== "thread_status" && e.timestamp >= (ask.since ?? "")) return { how: "the thread ended before", at: e.timestamp };
  }
  return undefined;
}

/** The same as a line for a shell. What begins with a dash is no flag. */
export function answerCommand(ask: Ask, say: Say): string {
  if (ask.source !== "question") {
    return `wardroom ${ask.source} answer ${ask.id}` + (ask.promptId ? ` --prompt ${quote(ask.promptId)}` : "") + (say.text ? ` --text=${quote(say.text)}` : "") + (say.choice || !say.text ? " -- " + quote(say.choice ?? "...") : "");
  }
  const value = valueOf(ask, say);
  if (typeof value === "object" || value === "-") return `wardroom question answer ${ask.id} --json ${quote(JSON.stringify(value))}`;
  return `wardroom question answer ${ask.id} ` + (say.choice ? `--choice=${quote(say.choice)}` : "-- " + quote(say.text ?? "..."));
}
