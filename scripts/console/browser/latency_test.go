package browser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// spawnShell starts a shell, and returns its id once it is ready.
func spawnShell(t testing.TB, name string) string {
	t.Helper()
	a, err := shared.Client.SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Type: "bash", Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Client.StopManagedAgent(context.WithoutCancel(t.Context()), a.ID, true, 0) })
	untilReady(t, a.ID)
	return a.ID
}

// untilReady waits until an agent takes messages.
func untilReady(t testing.TB, id string) {
	t.Helper()
	if err := testbed.Until(t.Context(), waiting, "the shell is ready", func(ctx context.Context) (bool, error) {
		now, err := shared.Client.GetManagedAgent(ctx, id)
		return err == nil && now.Status == client.ManagedReady, err
	}); err != nil {
		t.Fatal(err)
	}
}

// prompts is how many questions one turn of the bench asks.
const prompts = 10

// How long a prompt needs to an open inbox, from its commit by the server's clock to the document: both are this machine's.
func BenchmarkConsolePrompt(b *testing.B) {
	p := openFor(b, shared.URL+"/inbox", 3*limit)
	p.until("the inbox", `document.querySelector("h1") && !document.querySelector("main .waiting") && `+live)
	p.do(chromedp.Evaluate(`window.seen = {}; new MutationObserver(() => { for (const a of document.querySelectorAll(".asks a")) { const id = new URL(a.href).searchParams.get("ask"); if (id) seen[id] ??= Date.now(); } }).observe(document.querySelector("main"), {subtree: true, childList: true}); 0`, nil))
	var all []float64
	for b.Loop() {
		for range prompts {
			e, err := shared.Client.ExecuteAsync(b.Context(), client.ExecuteRequest{Pattern: "enterprise-review", Input: []byte(`{"task": "a word counter"}`)})
			if err != nil {
				b.Fatal(err)
			}
			var asked client.Question
			if err := testbed.Until(b.Context(), waiting, "a question", func(ctx context.Context) (bool, error) {
				list, err := shared.Client.ListQuestions(ctx, client.QuestionFilter{Status: "open"})
				if err != nil {
					return false, err
				}
				for _, q := range list.Questions {
					if q.ExecutionID == e.ExecutionID {
						asked = q
						return true, nil
					}
				}
				return false, nil
			}); err != nil {
				b.Fatal(err)
			}
			p.until("it in the inbox", fmt.Sprintf(`seen[%q]`, asked.ID))
			var at float64
			p.do(chromedp.Evaluate(fmt.Sprintf(`seen[%q]`, asked.ID), &at))
			all = append(all, at-float64(asked.CreatedAt.UnixMilli()))
			if _, err := shared.Client.CancelExecution(b.Context(), e.ExecutionID, "seen"); err != nil {
				b.Fatal(err)
			}
		}
	}
	report(b, all, "prompt")
	b.ReportMetric(all[len(all)*99/100], "prompt-ms-p99")
}

// noteKeys notes how long it took from each key to the frame after what came back for it, with the emulator's own steps in between.
const noteKeys = `window.echoes = []; let keyAt = 0;
	window.WebSocket = class extends WebSocket {
		constructor(...of) { super(...of); this.addEventListener("message", (e) => { if (typeof e.data === "string" || !keyAt) return; const began = keyAt; keyAt = 0; setTimeout(() => requestAnimationFrame(() => { const m = new MessageChannel(); m.port1.onmessage = () => echoes.push(performance.now() - began); m.port2.postMessage(0); })); }); }
	};
	addEventListener("keydown", () => { keyAt = performance.now(); }, true);`

// How long a key needs to its glyph in a terminal, and what a wall of 24 agents costs while they write.
func BenchmarkConsoleTerminal(b *testing.B) {
	id := spawnShell(b, "typed")
	b.Run("Key", func(b *testing.B) {
		p := beforeIn(b, noteKeys)
		p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
		p.until("the terminal", `document.querySelector(".xterm-screen canvas, .xterm-rows > div") && document.querySelector(".terminal-tab .bar [role=status]").innerText === "you look on"`)
		p.click(button("Take over"))
		p.until("the keyboard", `document.querySelector(".terminal.writing") && document.querySelector(".bar [role=status]").innerText === "you type"`)
		p.do(network.Disable()) // the driver is not told of what comes by the socket: that would cost more than what is measured
		n := 0
		for b.Loop() {
			for range 50 {
				n++
				// As a keyboard does: a key down that the page takes has no character follow. KeyEvent sends one all the same.
				p.do(input.DispatchKeyEvent(input.KeyRawDown).WithKey("x").WithCode("KeyX").WithWindowsVirtualKeyCode(88), input.DispatchKeyEvent(input.KeyUp).WithKey("x").WithCode("KeyX").WithWindowsVirtualKeyCode(88))
				p.until("its glyph", fmt.Sprintf(`echoes.length >= %d`, n))
			}
		}
		var all []float64
		p.do(chromedp.Evaluate(`echoes`, &all))
		report(b, all, "glyph")
		b.ReportMetric(all[len(all)*99/100], "glyph-ms-p99")
	})
	b.Run("Wall", func(b *testing.B) {
		ids := []string{id}
		for i := range 23 {
			ids = append(ids, spawnShell(b, fmt.Sprintf("tile-%d", i)))
		}
		p := open(b, "/agents?tab=wall")
		p.until("24 screens", `document.querySelectorAll(".tile-screen").length >= 24`)
		for _, id := range ids { // each writes a line twice a second
			if _, err := shared.Client.SendManagedAgent(b.Context(), id, client.ManagedAgentInput{Message: `for i in $(seq 600); do echo line-$i; sleep 0.5; done`}); err != nil {
				b.Fatal(err)
			}
		}
		p.until("what they write", `[...document.querySelectorAll(".tile-screen pre")].filter((s) => s.innerText.includes("line-")).length >= 4`)
		// By the time of its processes: how busy the machine is otherwise does not count.
		p.do(performance.Enable())
		before, began := p.browserTime(), time.Now()
		for b.Loop() {
			var seconds float64
			p.do(chromedp.Evaluate(`new Promise((done) => { let n = 0; new MutationObserver((_, o) => { if (++n >= 5) { o.disconnect(); done(n); } }).observe(document.querySelector(".wall"), {subtree: true, childList: true, characterData: true}); })`, &seconds, awaited))
		}
		b.ReportMetric(100*(p.browserTime()-before)/time.Since(began).Seconds(), "%-of-a-core")
	})
}

// The screen that a page shows at the end is the server's.
func (p *page) sameScreen(t *testing.T, id, lines string) {
	t.Helper()
	trimmed := func(all []string) string {
		for i := range all {
			all[i] = strings.TrimRight(strings.ReplaceAll(all[i], "\u00a0", " "), " ")
		}
		return strings.TrimRight(strings.Join(all, "\n"), "\n")
	}
	var here, there string
	if err := testbed.Until(t.Context(), waiting, "the screen of the page is that of the server", func(ctx context.Context) (bool, error) {
		screen, err := shared.Client.ManagedAgentScreen(ctx, id)
		if err != nil {
			return false, err
		}
		var text string
		p.do(chromedp.Evaluate(lines, &text))
		here, there = trimmed(strings.Split(text, "\n")), trimmed(screen.Lines)
		return here == there, nil
	}); err != nil {
		t.Errorf("%v\n%s\n-- of the server:\n%s", err, here, there)
	}
}
