package browser_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// A selection outlives a change of mind; what is asked to end in the middle of its work shows the outcome of each, and what it was not
// done to stays selected.
func TestSelectionKept(t *testing.T) {
	putUrgency(t)
	team := "kept-" + rand.Text()[:6] // of this run alone
	for range 3 {
		if _, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`), Options: client.ExecuteOptions{Metadata: map[string]any{"team": team}}}); err != nil {
			t.Fatal(err)
		}
	}
	p := openIn(t, "about:blank")
	p.away(true) // a refusal is an error to browsers
	g, asked := newGate(), 0
	p.insteadOf("*/api/executions/*/cancel", func(*network.Request) *answer {
		p.mu.Lock()
		asked++
		second := asked == 2
		p.mu.Unlock()
		if !second {
			return nil
		}
		g.hold(p)
		return &answer{status: http.StatusServiceUnavailable, body: `{"error": {"code": "INTERNAL_ERROR", "message": "not now"}}`}
	})
	p.do(chromedp.Navigate(shared.URL + "/executions?metadata.team=" + team))
	p.until("the rows", `document.querySelectorAll("main tr[data-index]").length === 3`)
	for _, n := range []string{"0", "1", "2"} {
		p.click(css("tr[data-index='" + n + "'] input[type=checkbox]"))
	}
	selected := func(n string) string {
		return `document.querySelector(".head").innerText.includes("` + n + ` selected")`
	}
	p.until("the selection", selected("3"))
	p.click(button("Cancel"))
	p.click(button("Keep as they are"))
	p.until("the list", `!document.querySelector("dialog")`)
	if !p.holds(selected("3")) {
		t.Fatalf("the selection is gone\n%s", p.text())
	}

	p.click(button("Cancel"))
	p.click(button("Cancel 3"))
	p.await(g, "the second one")
	p.do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Escape))
	close(g.opened)
	const outcomes = `[...document.querySelectorAll("dialog tbody td:last-child")].map((e) => e.innerText).join()`
	p.until("the outcome of each", outcomes+` === "cancelled,not now,left as it is" || !document.querySelector("dialog")`)
	if !p.holds(`document.querySelector("dialog")`) {
		t.Fatalf("the outcomes are gone\n%s", p.text())
	}
	if p.holds(`document.querySelector("dialog tbody [role=status]")`) || !p.holds(`document.querySelector("dialog footer [role=status]")?.innerText === "1 of 3 done."`) {
		t.Errorf("who hears the page hears each outcome, and not how far the work is\n%s", p.text())
	}
	if p.holds(`document.querySelector("dialog thead th:not([scope=col])")`) {
		t.Error("a head does not name its column to who hears the table")
	}
	p.click(`[...document.querySelectorAll("dialog footer button")].find((b) => b.innerText === "Close")`)
	p.until("those that it was not done to", selected("2"))
	p.mu.Lock()
	defer p.mu.Unlock()
	if asked != 2 {
		t.Errorf("%d were asked for, with a stop at the second", asked)
	}
}

// Who switches an endpoint off, or makes a new secret for it, learns that another changed it meanwhile.
func TestEndpointChangedMeanwhile(t *testing.T) {
	w, err := shared.Client.CreateWebhook(t.Context(), client.WebhookSpec{URL: "http://127.0.0.1:9/in", Events: []string{"execution.failed"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Client.DeleteWebhook(context.WithoutCancel(t.Context()), w.ID) })
	p := openIn(t, "about:blank")
	p.away(true) // a conflict is an error to browsers
	g, reads := newGate(), 0
	p.insteadOf("*/api/webhooks/"+w.ID, func(r *network.Request) *answer {
		p.mu.Lock()
		if r.Method == http.MethodGet {
			reads++
		}
		late := r.Method == http.MethodGet && reads > 1
		first := late && reads == 2
		p.mu.Unlock()
		if first {
			close(g.reached)
		}
		if late { // what the other did is not seen yet
			select {
			case <-g.opened:
			case <-p.ctx.Done():
			}
		}
		return nil
	})
	p.do(chromedp.Navigate(shared.URL + "/webhooks/" + w.ID))
	p.until("the endpoint, live", button("Disable")+" && "+live)
	if _, err := shared.Client.UpdateWebhook(t.Context(), w.ID, client.WebhookPatch{Events: []string{"execution.cancelled"}}); err != nil {
		t.Fatal(err)
	}
	conflict := `[...document.querySelectorAll("main .notice.bad, dialog .notice.bad")].some((n) => n.innerText.includes("CONFLICT"))`
	p.click(button("New secret"))
	p.click(button("Make it"))
	p.until("an answer to a new secret", conflict+` || !document.querySelector("dialog")`)
	if !p.holds(conflict) {
		t.Error("a new secret was made of what another changed meanwhile")
	} else {
		p.click(button("Keep as it is"))
	}
	p.click(button("Disable"))
	p.until("an answer", conflict+" || "+button("Enable"))
	close(g.opened)
	if now, err := shared.Client.GetWebhook(t.Context(), w.ID); err != nil || !now.Enabled {
		t.Errorf("what another changed meanwhile is switched off: %+v, %v", now, err)
	}
	p.until("what the other changed", `document.querySelector(".head").innerText.includes("execution.cancelled")`)
	p.click(button("Disable"))
	p.until("that it is off", `document.querySelector(".head .state")?.innerText === "disabled"`)
}
