package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// files is a script that keeps what a page offers to be saved.
const files = `; window.files = []; URL.createObjectURL = (b) => { window.files.push(b); return "data:,"; }; HTMLAnchorElement.prototype.click = () => {};`

// keyOnly is a script for which the server keeps no sessions, as where it is reached over plain HTTP.
const keyOnly = `{ const asked = window.fetch; window.fetch = (address, o) => (o?.method === "POST" && new URL(address, location.href).pathname === "/api/session" ? Promise.resolve(new Response('{"error": {"code": "NOT_FOUND", "message": "none"}}', {status: 404})) : asked(address, o)); };`

// A file is of one person: what was begun to be read for one is neither gone on with nor given to the next.
func TestExportOfOnePerson(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n  audit: {enabled: true}\n")
	admin := withEcho(t, s, key)
	other, err := admin.CreateKey(t.Context(), client.APIKeySpec{Name: "other", Owner: "other", Scopes: []string{"admin"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	begin := func(t *testing.T, path, script string) *page {
		t.Helper()
		p := beforeIn(t, script+files)
		t.Cleanup(func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }) // ports share them
		p.away(true)                                                                 // refusals are errors to browsers
		p.do(chromedp.Navigate(s.URL + path))
		p.signInBy(key)
		return p
	}
	check := func(t *testing.T, p *page) {
		t.Helper()
		if asks := p.released(); asks != 1 {
			t.Error("what one person began is read on in the name of the next")
		}
		if p.holds(`files.length > 0`) {
			t.Error("the next person is given the file of another")
		}
	}
	const execution = `{executionId: "exec_01ARZ3NDEKTSV4RRFFQ" + String(n).padStart(7, "0"), status: "completed", pattern: "echo", version: "1.0.0", createdAt: "2026-01-02T03:04:05Z"}`
	executions := answering("/api/executions", `(q) => {
		const from = Number(q.get("cursor") ?? 0);
		return {executions: Array.from({length: 100}, (_, i) => 9000 - from - i).map((n) => (`+execution+`)), total: 300, limit: 100, hasMore: from < 200, nextCursor: String(from + 100)};
	}`) + holding("GET", "/api/executions.*until=")

	t.Run("Executions", func(t *testing.T) {
		p := begin(t, "/executions", executions)
		p.until("the rows", `document.querySelector("main tr[data-index]")`)
		p.click(button("Export"))
		p.click(button("JSON lines"))
		p.until("the first page under way", `window.release`)
		p.overtaken(admin, other.Key)
		check(t, p)
	})

	// The browser is the next one's as soon as the sign-in is answered, and the page learns a little later whose it is.
	t.Run("WhileItIsAskedWho", func(t *testing.T) {
		p := begin(t, "/executions", executions)
		p.until("the rows", `document.querySelector("main tr[data-index]")`)
		p.click(button("Export"))
		p.click(button("JSON lines"))
		p.until("the first page under way", `window.release`)
		p.withoutSession(admin)
		// Refusals are let through: the page asks who it is when its stream ends, which may be now.
		p.do(chromedp.Evaluate(`{ const asked = window.fetch; window.fetch = async (to, o) => {
			const answer = await asked(to, o);
			if (!/\/api\/session$/.test(to) || o.method !== "GET" || o.headers.Authorization || !answer.ok || window.known) return answer;
			await new Promise((there) => { (window.held ??= []).push(there); });
			return answer;
		}; } 0`, nil))
		p.click(css("dialog input[type=password]"))
		p.do(chromedp.KeyEvent(other.Key), chromedp.KeyEvent(kb.Enter))
		p.until("the sign-in, answered", `window.held`)
		check(t, p)
		p.do(chromedp.Evaluate(`window.known = true; held.forEach((there) => there()); 0`, nil))
		p.until("the page", `document.querySelector("button.me") && !document.querySelector("input[type=password]")`)
	})

	t.Run("Audit", func(t *testing.T) {
		const record = `{sequence: n, eventId: "aud_01ARZ3NDEKTSV4RRFFQ" + String(n).padStart(7, "0"), timestamp: "2026-01-02T03:04:05Z", category: "patterns", action: "patterns.create", outcome: "success", actor: {type: "apiKey", id: "ann"}, resource: {type: "patterns"}, request: {}, details: {}, previousHash: "", hash: ""}`
		p := begin(t, "/audit?action=patterns.*", answering("/api/audit", `(q) => {
			const from = Number(q.get("cursor") ?? 0);
			return {records: Array.from({length: 100}, (_, i) => 9000 - from - i).map((n) => (`+record+`)), limit: 100, hasMore: from < 200, nextCursor: String(from + 100)};
		}`)+holding("GET", `/api/audit\?.*until=`))
		p.until("the rows", `document.querySelector("main tr[data-index]")`)
		p.click(button("CSV"))
		p.until("the first page under way", `window.release`)
		p.overtaken(admin, other.Key)
		check(t, p)
	})

	t.Run("Batch", func(t *testing.T) {
		const id = "batch_01ARZ3NDEKTSV4RRFFQ0000001"
		p := begin(t, "/batches/"+id, answering("/api/batch/"+id, `(q) => {
			const from = Number(q.get("cursor") ?? 0);
			return {batchId: "`+id+`", status: "completed", pattern: {name: "echo", version: "1.0.0"}, total: 2000, completed: 2000, failed: 0, cancelled: 0, createdAt: "2026-01-02T03:04:05Z", completedAt: "2026-01-02T03:05:05Z",
				results: Array.from({length: 1000}, (_, i) => ({index: from + i, status: "completed", result: {n: 1}})), hasMore: from < 1000, nextCursor: String(from + 1000)};
		}`)+holding("GET", "/api/batch/.*cursor="))
		p.until("the items", `document.querySelector("main tr[data-index]")`)
		p.click(button("Results as JSON lines"))
		p.until("the last page under way", `window.release`)
		p.overtaken(admin, other.Key)
		check(t, p)
	})

	t.Run("WholeTrail", func(t *testing.T) {
		p := begin(t, "/audit", keyOnly+`{ const asked = window.fetch; window.asks = 0; window.fetch = (to, o) => {
			if (!/\/api\/audit\/export/.test(to)) return asked(to, o);
			window.asks++;
			return Promise.resolve(new Response(new ReadableStream({start(c) {
				c.enqueue(new TextEncoder().encode("{}\n"));
				window.release = () => { try { c.enqueue(new TextEncoder().encode("{}\n")); c.close(); } catch {} };
			}}), {headers: {"Content-Type": "application/x-ndjson"}}));
		}; };`)
		p.until("the rows", `document.querySelector("main tr[data-index]")`)
		p.click(button("Export JSON lines"))
		p.until("the trail under way", `window.release`)
		p.signOut()
		p.signInBy(other.Key)
		check(t, p)
	})
}

// A trail that is longer than a page keeps of it is written up to a whole line, and the page names the command that writes all.
func TestAuditExportThatStops(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n  audit: {enabled: true}\n")
	p := beforeIn(t, keyOnly+`{ const asked = window.fetch; window.sent = 0; window.fetch = (to, o) => {
		if (!/\/api\/audit\/export/.test(to)) return asked(to, o);
		const piece = new TextEncoder().encode(('{"sequence":1,"details":"' + "x".repeat(997) + '"}\n').repeat(10_000));
		return Promise.resolve(new Response(new ReadableStream({pull(c) { if (sent++ < 30) c.enqueue(piece); else c.close(); }, cancel() { window.given = "up"; }}), {headers: {"Content-Type": "application/x-ndjson"}}));
	}; };`+files)
	p.away(true) // refusals are errors to browsers
	p.do(chromedp.Navigate(s.URL + "/audit"))
	p.signInBy(key)
	p.until("the rows", `document.querySelector("main tr[data-index]")`)
	p.click(button("Export JSON lines"))
	p.until("the file", `files.length === 1`)
	const most = 128 << 20
	if !p.holds(fmt.Sprintf(`files[0].size <= %d && files[0].size > %d && given === "up"`, most, most-(1<<20))) {
		t.Errorf("the file has %d bytes", p.count(`files[0].size`))
	}
	var end string
	p.do(chromedp.Evaluate(`files[0].slice(-3).text()`, &end, awaited))
	if end != "\"}\n" {
		t.Errorf("the file ends in the middle of a record: %q", end)
	}
	p.until("that it has not all", `/^The file has the oldest 128 MiB/.test(document.querySelector("main .notice[role=status]")?.innerText) && document.querySelector("main .notice code")?.innerText.startsWith("wardroom audit export --file audit.jsonl")`)
}
