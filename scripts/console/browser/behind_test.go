package browser_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Single keys do nothing behind a dialog, also while what was pressed in it is under way.
func TestKeysBehindDialog(t *testing.T) {
	w := refusing(t, shared.Server, "pattern.deleted")
	t.Cleanup(func() { _ = shared.Client.DeleteWebhook(context.WithoutCancel(t.Context()), w.ID) })
	p := openIn(t, "about:blank")
	held := newGate()
	p.insteadOf("*/api/webhooks/"+w.ID, func(r *network.Request) *answer {
		if r.Method == http.MethodPatch {
			held.hold(p)
		}
		return nil
	})
	p.do(chromedp.Navigate(shared.URL + "/webhooks/" + w.ID))
	p.click(button("New secret"))
	p.click(button("Make it"))
	p.await(held, "the new secret")
	p.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("b"))
	if !p.holds(`document.querySelector("dialog[open]") && location.pathname.startsWith("/webhooks/")`) {
		t.Fatal("a key leads away from a dialog whose work is under way")
	}
	close(held.opened)
	p.until("the secret", main+`.includes("whsec_")`)
}

// An arrow that is pressed before anything was found is no reason to open nothing.
func TestJumpArrowBeforeHits(t *testing.T) {
	putUrgency(t)
	p := openIn(t, "about:blank")
	held := newGate()
	first := true
	p.insteadOf("*/api/patterns?*", func(*network.Request) *answer {
		p.mu.Lock()
		mine := first
		first = false
		p.mu.Unlock()
		if mine {
			held.hold(p)
		}
		return nil
	})
	p.do(chromedp.Navigate(shared.URL + "/system"))
	p.click(css("button.jump"))
	p.do(chromedp.KeyEvent("urgency"))
	p.await(held, "the patterns")
	p.until("nothing, so far", `document.querySelector("dialog")?.innerText.includes("Nothing fits")`)
	p.do(chromedp.KeyEvent(kb.ArrowDown))
	close(held.opened)
	p.until("the pattern", `document.querySelector("#hits li")`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.do(chromedp.Evaluate(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`, nil, awaited))
	if !p.holds(`location.pathname === "/patterns/urgency"`) {
		t.Errorf("Enter opens nothing\n%s", p.text())
	}
}
