package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// The lines of a log that is followed stay while a broken connection is made anew, and until the answer has lines.
func TestFollowedLinesStay(t *testing.T) {
	p := openIn(t, "about:blank")
	asked, held := 0, newGate()
	p.insteadOf("*/api/admin/log?*", func(*network.Request) *answer {
		p.mu.Lock()
		asked++
		n := asked
		p.mu.Unlock()
		if n == 2 {
			held.hold(p)
		}
		lines := ""
		for i := range min(n, 2) {
			lines += fmt.Sprintf("event: log\ndata: {\"timestamp\": \"2026-01-02T03:04:05Z\", \"level\": \"info\", \"message\": \"this is line %d\"}\n\n", i+1)
		}
		return &answer{status: 200, body: lines, headers: map[string]string{"Content-Type": "text/event-stream"}}
	})
	p.do(chromedp.Navigate(shared.URL + "/system?tab=log"))
	p.until("a line", `document.body.innerText.includes("this is line 1")`)
	p.do(chromedp.Evaluate(`globalThis.emptied = false; new MutationObserver(() => {
		if (!document.body.innerText.includes("this is line 1")) globalThis.emptied = true;
	}).observe(document.body, { childList: true, subtree: true, characterData: true }); 0`, nil))
	p.await(held, "the log, again")
	close(held.opened)
	p.until("another line", `document.body.innerText.includes("this is line 2")`)
	var emptied bool
	p.do(chromedp.Evaluate(`globalThis.emptied`, &emptied))
	if emptied {
		t.Error("no line was shown for a while")
	}
}

// A log whose connection was lost without a word is followed anew.
func TestFollowedAfterSilence(t *testing.T) {
	p := beforeIn(t, hurried+`{ const now = Date.now, real = window.fetch; window.silence = 0; Date.now = () => now() + silence; window.followed = 0;
		window.fetch = (address, o) => new URL(address, location.href).pathname !== "/api/admin/log" ? real(address, o) : Promise.resolve(new Response(new ReadableStream({start(c) {
			c.enqueue(new TextEncoder().encode('event: log\ndata: {"timestamp": "2026-01-02T03:04:05Z", "level": "info", "message": "this is answer ' + ++followed + '"}\n\n'));
		}}))); }`)
	p.do(chromedp.Navigate(shared.URL + "/system?tab=log"))
	p.until("a line", `document.body.innerText.includes("this is answer 1")`)
	p.do(chromedp.Evaluate(`silence = 60e3; 0`, nil))
	p.until("the next answer", `document.body.innerText.includes("this is answer 2")`)
}
