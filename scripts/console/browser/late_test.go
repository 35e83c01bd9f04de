package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// gate holds an answer until it is opened.
type gate struct{ reached, opened chan struct{} }

func newGate() *gate { return &gate{reached: make(chan struct{}), opened: make(chan struct{})} }

// hold says that an answer is held, and returns once it may go.
func (g *gate) hold(p *page) {
	close(g.reached)
	select {
	case <-g.opened:
	case <-p.ctx.Done():
	}
}

// await waits until the gate holds an answer.
func (p *page) await(g *gate, what string) {
	p.t.Helper()
	select {
	case <-g.reached:
	case <-p.ctx.Done():
		p.t.Fatalf("%s: nothing was asked for\n%s", what, p.text())
	}
}

// to goes to a screen as a link does, without loading the page again.
func (p *page) to(path string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(fmt.Sprintf(`history.pushState({}, "", %q); dispatchEvent(new PopStateEvent("popstate")); 0`, path), nil))
}

// begun starts an execution that waits, which the server tells of, and returns its id.
func begun(t testing.TB) string {
	t.Helper()
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "not needed")
	})
	return e.ExecutionID
}

// batchesFrom is a page of a hundred batches, from the one with a number down.
func batchesFrom(t testing.TB, newest int) string {
	t.Helper()
	var rows []map[string]any
	for i := range 100 {
		at := time.Unix(1_700_000_000+int64(newest-i), 0).UTC()
		rows = append(rows, map[string]any{"batchId": fmt.Sprintf("batch_%d", newest-i), "status": "completed", "pattern": map[string]string{"name": "urgency", "version": "1.0.0"},
			"total": 1, "completed": 1, "failed": 0, "cancelled": 0, "createdAt": at, "completedAt": at, "createdBy": "anonymous"})
	}
	out, err := json.Marshal(map[string]any{"batches": rows, "total": newest, "limit": 100, "offset": 0, "hasMore": true, "nextCursor": strconv.Itoa(newest - 100)})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What comes into a list pushes rows out of its first page: they go on behind it, before those of further pages.
func TestPagesAreJoined(t *testing.T) {
	putUrgency(t)
	for _, whole := range []bool{true, false} {
		name := "while the next page is read"
		if whole {
			name = "after the next page"
		}
		t.Run(name, func(t *testing.T) {
			p := openIn(t, "about:blank")
			newest, held := 1000, newGate()
			p.insteadOf("*/api/batches?*", func(r *network.Request) *answer {
				p.mu.Lock()
				from := newest
				p.mu.Unlock()
				if u, err := url.Parse(r.URL); err == nil && u.Query().Get("cursor") != "" {
					if from, err = strconv.Atoi(u.Query().Get("cursor")); err == nil && from == 900 {
						held.hold(p)
					}
				}
				return &answer{status: 200, body: batchesFrom(t, from)}
			})
			come := func(n int) {
				t.Helper()
				p.mu.Lock()
				newest += n
				first := newest
				p.mu.Unlock()
				b, err := shared.Client.StartBatch(t.Context(), client.BatchRequest{Pattern: "urgency", Inputs: []json.RawMessage{[]byte(`{"text": "x"}`)}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _, _ = shared.Client.CancelBatch(context.WithoutCancel(t.Context()), b.BatchID) })
				p.do(chromedp.Evaluate(`document.querySelector(".rows").scrollTop = 0; 0`, nil))
				p.until("what came", fmt.Sprintf(`document.querySelector("tr[data-index='0']")?.dataset.id === "batch_%d"`, first))
			}
			inOrder := func() {
				t.Helper()
				p.mu.Lock()
				first := newest
				p.mu.Unlock()
				for _, i := range []int{97, 101, 150} {
					p.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(".rows").scrollTop = %d * 32; 0`, i-5), nil))
					p.until(fmt.Sprintf("row %d", i), fmt.Sprintf(`document.querySelector("tr[data-index='%d']")`, i))
					var id string
					p.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector("tr[data-index='%d']").dataset.id`, i), &id))
					if want := fmt.Sprintf("batch_%d", first-i); id != want {
						t.Errorf("row %d is %s, not %s", i, id, want)
					}
				}
			}
			p.do(chromedp.Navigate(shared.URL + "/batches"))
			p.until("rows, live", `document.querySelectorAll("main tr[data-index]").length > 20 && `+live)
			p.do(chromedp.Evaluate(`(() => { const r = document.querySelector(".rows"); r.scrollTop = r.scrollHeight; })(); 0`, nil))
			p.await(held, "the next page")
			const further = `document.querySelector(".rows").scrollHeight > 180 * 32`
			if whole {
				close(held.opened)
				p.until("the next page", further)
				come(3)
			} else {
				come(3)
				close(held.opened)
				p.until("the next page", further)
			}
			inOrder()
			if !whole {
				return
			}
			come(500) // more than a page: what lies between is read by the pages that follow
			p.do(chromedp.Evaluate(`(() => { const r = document.querySelector(".rows"); r.scrollTop = r.scrollHeight; })(); 0`, nil))
			p.until("the next page", further)
			inOrder()
		})
	}
}

// A look at the list that answers late does not take back what an event said of a row meanwhile.
func TestRowsKeepWhatHappened(t *testing.T) {
	putUrgency(t)
	id := begun(t)
	p := openIn(t, "about:blank")
	gates := []*gate{newGate(), newGate()}
	next, holding := 0, false
	p.insteadOf("*/api/executions?*", func(r *network.Request) *answer {
		p.mu.Lock()
		var g *gate
		if holding && next < len(gates) {
			g, next = gates[next], next+1
		}
		p.mu.Unlock()
		if g == nil {
			return nil
		}
		body := read(t, r.URL)
		g.hold(p)
		return &answer{status: 200, body: body}
	})
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	row := fmt.Sprintf(`document.querySelector("tr[data-id='%s']")`, id)
	p.until("its row, live", row+` && `+live)
	p.mu.Lock()
	holding = true
	p.mu.Unlock()
	begun(t)
	p.await(gates[0], "the look at the list")
	if _, err := shared.Client.CancelExecution(t.Context(), id, "seen"); err != nil {
		t.Fatal(err)
	}
	p.until("its end, by the event", row+`.innerText.includes("cancelled")`)
	close(gates[0].opened)
	p.await(gates[1], "the look that follows")
	p.until("the late answer", button("1 new"))
	if !p.holds(row + `.innerText.includes("cancelled")`) {
		t.Error("the late answer has taken its end back")
	}
	close(gates[1].opened)
}

// read returns what the server answers now.
func read(t testing.TB, address string) string {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

// A page that the browser kept while another was looked at shows what happened meanwhile.
func TestKeptPage(t *testing.T) {
	putUrgency(t)
	begun(t)
	p := open(t, "/executions")
	p.until("rows, live", `document.querySelector("main tr[data-index]") && `+live)
	other := open(t, "/executions") // which keeps the stream
	other.until("rows, live", `document.querySelector("main tr[data-index]") && `+live)
	p.do(chromedp.Evaluate(`dispatchEvent(new PageTransitionEvent("pagehide", {persisted: true})); 0`, nil))
	// Once the stream has forgotten it: what the other is told of then is not told to it.
	for n := 1; ; n++ {
		begun(t)
		other.until("what happens", button(strconv.Itoa(n)+" new"))
		if !p.holds(button(strconv.Itoa(n) + " new")) {
			break
		}
		if n == 20 {
			t.Fatal("a page that is kept goes on with the stream")
		}
	}
	p.do(chromedp.Evaluate(`dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true})); 0`, nil))
	var want string
	other.do(chromedp.Evaluate(`[...document.querySelectorAll("button")].find((b) => / new/.test(b.innerText)).innerText.split(" ")[0]`, &want))
	p.until("what happened meanwhile", button(want+" new"))
}

// Somebody who clicks again on the new rows, since they do not come at once, loses nothing of the first click.
func TestImpatience(t *testing.T) {
	putUrgency(t)
	p := openIn(t, "about:blank")
	held := newGate()
	asked, holding := 0, false
	p.instead("*/api/executions?*", func() *answer {
		p.mu.Lock()
		asked++
		first := holding && asked == 1
		p.mu.Unlock()
		if first {
			held.hold(p)
		}
		return nil
	})
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("the list, live", `document.querySelector("h1") && !document.querySelector("main .waiting") && `+live)
	id := begun(t)
	p.until("the new one to wait, or the first of all", fmt.Sprintf(`document.querySelector("tr[data-id='%s']") || `, id)+button("1 new"))
	id = begun(t)
	p.until("the new one to wait", `[...document.querySelectorAll("main button")].some((b) => /^[12] new/.test(b.innerText))`)
	p.mu.Lock()
	asked, holding = 0, true
	p.mu.Unlock()
	const click = `[...document.querySelectorAll("main button")].find((b) => /^[12] new/.test(b.innerText))?.click()`
	p.do(chromedp.Evaluate(click, nil))
	p.await(held, "the new rows")
	p.do(chromedp.Evaluate(click+"; "+click+"; 0", nil))
	p.do(chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`, nil, awaited))
	close(held.opened)
	p.until("the new row", fmt.Sprintf(`document.querySelector("tr[data-id='%s']")`, id))
	p.mu.Lock()
	defer p.mu.Unlock()
	if asked != 1 {
		t.Errorf("the list was read %d times by three clicks", asked)
	}
}

// A refusal that comes after somebody signed in asks nobody to do so again: what it was about is read by the new session.
func TestLateRefusal(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n")
	p := openIn(t, "about:blank")
	defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
	p.away(true)
	held, asked, holding := newGate(), 0, false
	p.instead("*/api/overview*", func() *answer {
		p.mu.Lock()
		asked++
		hold := holding
		holding = false
		p.mu.Unlock()
		if !hold {
			return nil
		}
		held.hold(p)
		return &answer{status: 401, body: `{"error": {"code": "UNAUTHORIZED", "message": "who are you?"}}`}
	})
	signIn := func(field string) {
		t.Helper()
		p.click(css(field))
		p.do(chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter))
	}
	const overview = `document.querySelectorAll(".tile strong").length >= 6 && [...document.querySelectorAll(".tile strong")].every((n) => /\d/.test(n.innerText)) && !document.querySelector("dialog")`
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	signIn(".sign-in input[type=password]")
	p.until("the patterns", `document.querySelector("h1")?.innerText === "Patterns"`)
	p.do(network.ClearBrowserCookies())
	p.mu.Lock()
	holding = true
	p.mu.Unlock()
	p.to("/")
	p.await(held, "the overview")
	p.until("that the session is over", `document.querySelector("dialog input[type=password]")`)
	signIn("dialog input[type=password]")
	p.until("the session", `!document.querySelector("dialog")`)
	p.mu.Lock()
	before := asked
	p.mu.Unlock()
	close(held.opened)
	if err := testbed.Until(p.ctx, waiting, "the overview is read again, or a sign-in asked for", func(context.Context) (bool, error) {
		p.mu.Lock()
		again := asked > before
		p.mu.Unlock()
		return again || p.holds(`document.querySelector("dialog")`), nil
	}); err != nil {
		t.Error(err)
	}
	if p.holds(`document.querySelector("dialog")`) {
		t.Fatal("the late refusal asks for a sign-in again")
	}
	p.until("the overview", overview)
}

// What is written while something is sent is not taken away by the answer to that.
func TestWrittenMeanwhile(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: `echo one > a.txt; echo two > b.txt`, Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
	p := open(t, "/threads/"+thread.ID)
	var held *gate
	p.insteadOf("*/api/managed-threads/*", func(r *network.Request) *answer {
		p.mu.Lock()
		g := held
		if r.Method == http.MethodPost {
			held = nil
		}
		p.mu.Unlock()
		if r.Method == http.MethodPost && g != nil {
			g.hold(p)
		}
		return nil
	})
	hold := func() *gate {
		g := newGate()
		p.mu.Lock()
		held = g
		p.mu.Unlock()
		return g
	}
	t.Run("message", func(t *testing.T) {
		const field = `document.querySelector(".composer textarea")`
		p.click(field)
		g := hold()
		p.do(chromedp.KeyEvent("echo first"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
		p.await(g, "the message")
		p.do(chromedp.KeyEvent(" and a second"))
		close(g.opened)
		p.until("that the first is sent", field+`.value !== "echo first and a second"`)
		if !p.holds(field + `.value === "and a second"`) {
			t.Errorf("what was written meanwhile is gone\n%s", p.text())
		}
	})
	t.Run("remarks", func(t *testing.T) {
		p.to("/threads/" + thread.ID + "?tab=changes")
		remark := func(line, text string) {
			t.Helper()
			p.click(fmt.Sprintf(`[...document.querySelectorAll("tr.add")].find((r) => r.innerText.includes(%q))?.querySelector("button.remark")`, line))
			p.until("a field", `document.activeElement?.matches(".remarking textarea")`)
			p.do(chromedp.KeyEvent(text), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
		}
		remark("one", "why one?")
		g := hold()
		p.click(button("Send 1 remark"))
		p.await(g, "the remark")
		remark("two", "why two?")
		p.until("both", `document.querySelectorAll(".said-here .said").length === 2`)
		close(g.opened)
		p.until("that the first is sent", `document.querySelector(".changes")?.innerText.includes("The remark is sent")`)
		if !p.holds(`document.querySelector(".said-here")?.innerText.includes("why two?") && document.querySelectorAll(".said-here").length === 1 && sessionStorage.getItem("remarks:` + thread.ID + `")?.includes("why two?")`) {
			t.Errorf("the remark that was written meanwhile is gone\n%s", p.text())
		}
	})
	t.Run("decision", func(t *testing.T) {
		p.to("/threads/" + thread.ID + "?tab=memory")
		const field = `document.querySelector(".saying textarea")`
		p.click(field)
		g := hold()
		p.do(chromedp.KeyEvent("tabs"))
		p.click(button("Write it down"))
		p.await(g, "the decision")
		p.click(field)
		p.do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent(" and no spaces"))
		close(g.opened)
		p.until("that it is kept", `document.querySelector(".two-columns")?.innerText.includes("decision")  && `+field+`.value !== "tabs and no spaces"`)
		if !p.holds(field + `.value === "and no spaces"`) {
			t.Errorf("what was written meanwhile is gone\n%s", p.text())
		}
	})
}

// What is written in the editor while a version is stored stays a draft, and a conflict is told of the text that has it alone.
func TestEditorMeanwhile(t *testing.T) {
	const text = "name: lately\nversion: 1.0.0\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: text}); err != nil {
		t.Fatal(err)
	}
	p := open(t, "/patterns/lately?tab=edit")
	const area = `document.querySelector(".paper textarea")`
	p.until("the text", area+`?.value.includes("lately")`)
	write := func(text string) {
		t.Helper()
		p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = %s; e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, area, text), nil))
	}
	var held *gate
	method := ""
	p.insteadOf("*/api/patterns*", func(r *network.Request) *answer {
		p.mu.Lock()
		var g *gate
		if r.Method == method && !strings.HasSuffix(r.URL, "/validate") {
			g, held = held, nil
		}
		p.mu.Unlock()
		if g != nil {
			g.hold(p)
		}
		return nil
	})
	hold := func(m string) *gate {
		g := newGate()
		p.mu.Lock()
		held, method = g, m
		p.mu.Unlock()
		return g
	}
	next := strings.Replace(text, "1.0.0", "1.0.1", 1)
	write(next)
	g := hold(http.MethodPost)
	p.click(button("Save as 1.0.1"))
	p.await(g, "the version")
	write(next + "# written meanwhile\n")
	close(g.opened)
	p.until("that it is stored", `document.querySelector("main .notice.good")?.innerText.startsWith("Version 1.0.1 is stored") || location.search !== "?tab=edit"`)
	if !p.holds(area + `?.value.includes("written meanwhile")`) {
		t.Fatalf("what was written meanwhile is gone\n%s", p.text())
	}
	p.until("the draft", `Object.entries(localStorage).some(([key, text]) => key.startsWith("wardroom-draft:lately@1.0.0") && text.includes("written meanwhile"))`)
	if stored, err := shared.Client.GetPattern(t.Context(), "lately", "1.0.1"); err != nil || strings.Contains(stored.Source, "meanwhile") {
		t.Errorf("stored %+v, %v", stored, err)
	}
	// So it does when a newer version comes from elsewhere.
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: strings.Replace(text, "1.0.0", "1.0.3", 1)}); err != nil {
		t.Fatal(err)
	}
	p.until("that there is a newer one", `document.querySelector("main")?.innerText.includes("Version 1.0.3 was stored meanwhile")`)
	if !p.holds(area + `?.value.includes("written meanwhile")`) {
		t.Fatalf("the text that is edited has given way\n%s", p.text())
	}
	p.away(true) // a conflict is an error to browsers
	p.until("the draft, looked at", button("Save as 1.0.1"))
	g = hold(http.MethodGet)
	p.click(button("Save as 1.0.1"))
	p.await(g, "the version that is there")
	p.click(button("Make it 1.0.2"))
	close(g.opened)
	p.until("that the next can be stored", button("Save as 1.0.2"))
	if p.holds(`document.querySelector(".both") || document.querySelector(".editing .notice.bad")`) {
		t.Errorf("a conflict of another version is told\n%s", p.text())
	}
}

// An answer that comes after the person went on takes them nowhere.
func TestAnswersAfterLeaving(t *testing.T) {
	t.Run("inbox", func(t *testing.T) {
		for range 3 {
			e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "enterprise-review", Input: []byte(`{"task": "a command that counts words"}`)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "not needed")
			})
		}
		p := open(t, "/inbox")
		p.until("three questions", `document.querySelectorAll(".asks li").length >= 3 && document.querySelector(".answerbox textarea")`)
		held := newGate()
		p.insteadOf("*/answer*", func(r *network.Request) *answer {
			if r.Method == http.MethodPost {
				held.hold(p)
			}
			return nil
		})
		p.click(css(".answerbox textarea"))
		p.do(chromedp.KeyEvent("yes"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
		p.await(held, "the answer")
		p.click(`document.querySelectorAll(".asks li")[2].querySelector("a")`)
		var third string
		p.do(chromedp.Evaluate(`new URLSearchParams(location.search).get("ask")`, &third))
		p.until("its field", `document.querySelector(".answerbox textarea")?.value === ""`)
		p.click(css(".answerbox textarea"))
		p.do(chromedp.KeyEvent("well,"))
		var n int
		p.do(chromedp.Evaluate(`document.querySelectorAll(".asks li").length`, &n))
		close(held.opened)
		p.until("that the first is answered", fmt.Sprintf(`document.querySelectorAll(".asks li").length === %d`, n-1))
		if !p.holds(fmt.Sprintf(`new URLSearchParams(location.search).get("ask") === %q && document.querySelector(".answerbox textarea").value === "well,"`, third)) {
			t.Errorf("another question is shown, and what was written is gone\n%s", p.text())
		}
	})
	t.Run("screen", func(t *testing.T) {
		done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
		if err != nil {
			t.Fatal(err)
		}
		p := open(t, "/executions/"+done.ExecutionID)
		held := newGate()
		p.instead("*/retry", func() *answer { held.hold(p); return nil })
		p.click(button("Run again"))
		p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run again")`)
		p.await(held, "the repetition")
		p.click(css(`dialog button[aria-label="Close"]`))
		p.click(css(`nav a[href$="/patterns"]`))
		p.until("the patterns", `document.querySelector("main tr[data-id='startup-team']")`)
		close(held.opened)
		p.until("the answer", `performance.getEntriesByType("resource").some((e) => e.name.endsWith("/retry"))`)
		p.do(chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`, nil, awaited))
		if !p.holds(`location.pathname === "/patterns"`) {
			t.Error("the late answer has led away from the screen")
		}
	})
}

// fakeTerminal has the sockets of terminals be what a test makes of them.
const fakeTerminal = `window.sockets = []; const Real = window.WebSocket;
	window.WebSocket = class { static OPEN = 1; constructor(url) { this.url = String(url); this.readyState = 1; sockets.push(this); } send() {} close() { this.readyState = 3; }
		says(o) { this.onmessage({data: JSON.stringify(o)}); } writes(text) { this.onmessage({data: new TextEncoder().encode(text).buffer}); } breaks() { this.readyState = 3; this.onclose({code: 1006, reason: ""}); } };`

// A terminal goes on where it was when the connection breaks between a screen that was announced and the screen itself; what came before
// another size has the size before, however late the emulator takes it.
func TestTerminalInOrder(t *testing.T) {
	id := spawnShell(t, "in-order")
	p := beforeIn(t, fakeTerminal)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.click(button("For screen readers"))
	const lines = `[...document.querySelectorAll(".xterm-accessibility-tree [role=listitem]")].map((l) => l.innerText)`
	p.until("the socket", `window.sockets.length === 1 && sockets[0].onmessage`)
	p.do(chromedp.Evaluate(`sockets[0].says({type: "attached"}); sockets[0].says({type: "output", offset: 100}); sockets[0].writes("one\r\n"); sockets[0].says({type: "repaint", offset: 500}); sockets[0].breaks(); 0`, nil))
	p.until("another socket", `sockets.length === 2`)
	var address string
	p.do(chromedp.Evaluate(`sockets[1].url`, &address))
	if !strings.Contains(address, "offset=105") {
		t.Errorf("it goes on by %s, not at the offset 105", address)
	}
	p.do(chromedp.Evaluate(`sockets[1].says({type: "attached"}); sockets[1].writes("two\r\n"); 0`, nil))
	p.until("what came then", lines+`.some((l) => l.startsWith("two"))`)
	if !p.holds(lines + `.some((l) => l.startsWith("one"))`) {
		t.Error("what was there before is gone")
	}
	p.do(chromedp.Evaluate(`sockets[1].writes("\x1b[2J\x1b[1;100HX"); sockets[1].says({type: "resized", cols: 120, rows: 24}); sockets[1].writes("\x1b[2;100HY"); 0`, nil))
	p.until("what came at the new size", lines+`.some((l) => l.trimEnd().endsWith("Y"))`)
	var where []int
	p.do(chromedp.Evaluate(lines+`.slice(0, 2).map((l) => l.trimEnd().length)`, &where))
	if len(where) != 2 || where[0] != 80 || where[1] != 100 {
		t.Errorf("written at the columns %v; before the new size at 80, and then at 100", where)
	}
}

// Who loses the right to type while they do looks on after the socket has ended, and sees that they do.
func TestTerminalLosesItsKeyboard(t *testing.T) {
	id := spawnShell(t, "withdrawn")
	p := beforeIn(t, fakeTerminal+`{ const asked = window.fetch; window.withdrawn = false;
		window.fetch = async (address, o) => {
			const answer = await asked(address, o);
			if (!withdrawn || !new URL(address, location.href).pathname.endsWith("/terminal/tickets")) return answer;
			return new Response(JSON.stringify({...await answer.json(), readOnly: true}), {status: 201, headers: {"Content-Type": "application/json"}});
		}; }`)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.until("the socket", `window.sockets.length === 1 && sockets[0].onmessage`)
	p.do(chromedp.Evaluate(`sockets[0].says({type: "attached"}); 0`, nil))
	p.click(button("Take over"))
	p.until("the socket that types", `sockets.length === 2 && sockets[1].onmessage`)
	p.do(chromedp.Evaluate(`sockets[1].says({type: "attached"}); 0`, nil))
	p.until("the keyboard", `document.querySelector(".terminal.writing") && document.querySelector(".bar [role=status]").innerText === "you type"`)
	p.do(chromedp.Evaluate(`withdrawn = true; sockets[1].breaks(); 0`, nil))
	p.until("the socket that looks on", `sockets.length === 3 && sockets[2].onmessage`)
	p.do(chromedp.Evaluate(`sockets[2].says({type: "attached"}); 0`, nil))
	p.until("that it looks on", `document.querySelector(".bar [role=status]").innerText === "you look on" && !document.querySelector(".terminal.writing")`)
	if !p.holds(`sockets[1].url.includes("readonly=false") && sockets[2].url.includes("readonly=true")`) {
		t.Error("the socket asks for the keyboard still")
	}
}

// The filter of a list shows what the address has, also after going back.
func TestFilterGoesBack(t *testing.T) {
	p := open(t, "/memory?q=alpha")
	const field = `document.querySelector("main input[type=search]")?.value`
	p.until("the words of the address", field+` === "alpha"`)
	p.to("/memory?q=beta")
	p.until("those of the other", field+` === "beta"`)
	p.do(chromedp.Evaluate(`history.back()`, nil))
	p.until("the words before", field+` === "alpha" && new URLSearchParams(location.search).get("q") === "alpha"`)
}

// Of more events than a tab is told of, those of rows in view are looked up: also of rows that are not on the first page.
func TestRowsInViewOfMany(t *testing.T) {
	putUrgency(t)
	p := openIn(t, "about:blank")
	status := "running"
	p.insteadOf("*/api/executions?*", func(r *network.Request) *answer {
		p.mu.Lock()
		is := status
		p.mu.Unlock()
		newest := 300
		if u, err := url.Parse(r.URL); err == nil && u.Query().Get("cursor") != "" {
			newest, _ = strconv.Atoi(u.Query().Get("cursor"))
		}
		body := executionsFrom(p.t, newest, newest-100)
		for _, was := range []string{"completed", "failed", "running"} {
			body = strings.ReplaceAll(body, `"status":"`+was+`"`, `"status":"`+is+`"`)
		}
		return &answer{status: 200, body: body}
	})
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("rows, live", `document.querySelectorAll("main tr[data-index]").length > 20 && `+live)
	p.do(chromedp.Evaluate(`new Promise((done) => { const r = document.querySelector(".rows"); const f = () => { if (r.scrollHeight > 230 * 32) return done(0); r.scrollTop = r.scrollHeight; requestAnimationFrame(f); }; f(); })`, nil, awaited))
	p.do(chromedp.Evaluate(`document.querySelector(".rows").scrollTop = 150 * 32; 0`, nil))
	const row = `document.querySelector("tr[data-index='155']")`
	p.until("a row of the second page, which runs", row+`?.innerText.includes("running")`)
	p.mu.Lock()
	status = "completed"
	p.mu.Unlock()
	inputs := make([]json.RawMessage, 200)
	for i := range inputs {
		inputs[i] = json.RawMessage(`{"text": "x"}`)
	}
	// Its items begin at once, and end at once.
	b, err := shared.Client.StartBatch(t.Context(), client.BatchRequest{Pattern: "urgency", Inputs: inputs, Concurrency: 50})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shared.Client.CancelBatch(t.Context(), b.BatchID); err != nil {
		t.Fatal(err)
	}
	p.until("its end", row+`?.innerText.includes("completed")`)
}
