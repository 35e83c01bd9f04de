package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// What is typed while something is started is not in it, and is not gone with the form either: what was started is said, and led to.
func TestTypedWhileStarted(t *testing.T) {
	putUrgency(t)
	for _, one := range []struct {
		name, path, post string
		fill             func(p *page) // up to the press that starts it
		field, started   string
	}{
		{"thread", "/threads?tab=new", "*/api/managed-threads", func(p *page) {
			p.click(css("textarea[name=objective]"))
			p.do(chromedp.KeyEvent("echo one"))
			p.choose("select[name=type]", "bash")
			p.click(button("Look at what it begins with"))
			p.click(button("Start it"))
		}, `document.querySelector("textarea[name=objective]")`, "/threads/thread_"},
		{"agent", "/agents?tab=managed", "*/api/managed-agents", func(p *page) {
			p.click(button("Start one"))
			p.choose("dialog select[name=type]", "bash")
			p.click(css("dialog input[name=name]"))
			p.do(chromedp.KeyEvent("typed"), chromedp.KeyEvent(kb.Enter))
		}, `document.querySelector("dialog input[name=name]")`, "/agents/magent_"},
		{"execution", "/patterns/urgency", "*/api/patterns/urgency/execute*", func(p *page) {
			p.click(button("Run"))
			p.click(css("dialog textarea"))
			p.do(chromedp.KeyEvent("{}"))
			p.click(`[...document.querySelectorAll("dialog footer button")].find((b) => b.innerText === "Run")`)
		}, `document.querySelector("dialog textarea")`, "/executions/exec_"},
		{"batch", "/batches", "*/api/batch/execute", func(p *page) {
			p.click(button("Start one"))
			p.click(css("dialog input[name=pattern]"))
			p.do(chromedp.KeyEvent("urgency"))
			p.click(css("dialog textarea"))
			p.do(chromedp.KeyEvent(`{"text": "x"}`))
			p.click(button("Start 1 item"))
		}, `document.querySelector("dialog textarea")`, "/batches/batch_"},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := openIn(t, "about:blank")
			held := newGate()
			p.insteadOf(one.post, func(r *network.Request) *answer {
				if r.Method == http.MethodPost {
					held.hold(p)
				}
				return nil
			})
			p.do(chromedp.Navigate(shared.URL + one.path))
			one.fill(p)
			p.await(held, "the start")
			p.do(chromedp.Evaluate(one.field+`.focus()`, nil), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(" meanwhile"))
			var typed string
			p.do(chromedp.Evaluate(one.field+`.value`, &typed))
			close(held.opened)
			link := css("main .notice.good a[href*='" + one.started + "'], dialog .notice.good a[href*='" + one.started + "']")
			p.until("that it is started", link+fmt.Sprintf(` || location.pathname.includes(%q)`, one.started))
			if !p.holds(fmt.Sprintf(`%s?.value === %q && document.activeElement === %s`, one.field, typed, one.field)) {
				t.Errorf("what was typed meanwhile is gone, %q\n%s", typed, p.text())
			}
			if p.holds(link) {
				p.checkAxe(t, "something was typed while it was started")
			}
		})
	}
	list, err := shared.Client.ListThreads(t.Context(), client.ThreadFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range list.Threads {
		if thread.Objective == "echo one" {
			_ = shared.Client.StopThread(context.WithoutCancel(t.Context()), thread.ID, true, 0)
		}
	}
}
