package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// What is typed while an endpoint is saved is not in it, and stays in the form, which saves it as well.
func TestTypedWhileEndpointIsSaved(t *testing.T) {
	w := refusing(t, shared.Server, "pattern.deleted")
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		list, err := shared.Client.ListWebhooks(ctx, client.WebhookFilter{})
		if err != nil {
			t.Error(err)
			return
		}
		for _, one := range list.Webhooks {
			if strings.HasPrefix(one.URL, "http://127.0.0.1:9/hook") {
				_ = shared.Client.DeleteWebhook(ctx, one.ID)
			}
		}
	})
	const field = `document.querySelector("dialog input[name=url]")`
	for _, one := range []struct{ name, path, open, method, saved string }{
		{"change", "/webhooks/" + w.ID, "Change", http.MethodPatch, "It is changed"},
		{"new", "/webhooks", "New", http.MethodPost, "It was made"},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := openIn(t, "about:blank")
			held := newGate()
			var once sync.Once
			p.insteadOf("*/api/webhooks*", func(r *network.Request) *answer {
				if r.Method == one.method {
					once.Do(func() { held.hold(p) })
				}
				return nil
			})
			p.do(chromedp.Navigate(shared.URL + one.path))
			p.click(button(one.open))
			p.click(field)
			p.do(chromedp.Evaluate(field+`.select()`, nil), chromedp.KeyEvent("http://127.0.0.1:9/hook-"+one.name), chromedp.KeyEvent(kb.Enter))
			p.await(held, "the save")
			p.do(chromedp.Evaluate(field+`.focus()`, nil), chromedp.KeyEvent(kb.End), chromedp.KeyEvent("-meanwhile"))
			close(held.opened)
			p.until("that it is saved", fmt.Sprintf(`document.querySelector("dialog")?.innerText.includes(%q) || !%s`, one.saved, field))
			if !p.holds(field + `?.value === "http://127.0.0.1:9/hook-` + one.name + `-meanwhile" && document.activeElement === ` + field) {
				t.Fatalf("what was typed meanwhile is gone\n%s", p.text())
			}
			p.checkAxe(t, "something was typed while an endpoint was saved")
			if one.method == http.MethodPost && !p.holds(`document.querySelector("dialog .notice")?.innerText.includes("whsec_")`) {
				t.Error("the secret is not shown")
			}
			p.until("the form, at rest", `!document.querySelector("dialog footer .main").disabled`)
			if one.method == http.MethodPatch {
				p.until("what it is read as", fmt.Sprintf(`document.querySelector("h1").innerText === "http://127.0.0.1:9/hook-%s"`, one.name))
				p.do(chromedp.KeyEvent(kb.Enter))
				p.until("an end", `!document.querySelector("dialog")`)
				if now, err := shared.Client.GetWebhook(t.Context(), w.ID); err != nil || !strings.HasSuffix(now.URL, "-meanwhile") {
					t.Errorf("saved: %+v, %v", now, err)
				}
			}
		})
	}
}

// A delivery is shown in its present state, also one that a link leads to; delivering it again by key keeps the focus.
func TestDeliveryAsItIsNow(t *testing.T) {
	w := refusing(t, shared.Server, "pattern.deleted")
	t.Cleanup(func() { _ = shared.Client.DeleteWebhook(context.WithoutCancel(t.Context()), w.ID) })
	for _, one := range []struct{ name, listed string }{{"listed", "1"}, {"linked", "2"}} {
		t.Run(one.name, func(t *testing.T) {
			p := beforeIn(t, fmt.Sprintf(`{ const real = window.fetch; window.status = "failed";
				const of = (n) => ({id: "dlv_01ARZ3NDEKTSV4RRFFQ000000" + n, webhookId: %[1]q, event: "pattern.deleted", eventId: "evt_" + n, status, attempts: 1, timestamp: "2026-01-02T03:04:05Z"});
				const json = (v) => Promise.resolve(new Response(JSON.stringify(v), {headers: {"Content-Type": "application/json"}}));
				window.fetch = (address, o) => {
					const path = new URL(address, location.href).pathname.split("/deliveries")[1];
					if (path === undefined) return real(address, o);
					if (o?.method === "POST") { status = "pending"; return json({}); }
					return json(path ? {...of(1), attemptLog: []} : {deliveries: [of(%[2]s)], total: 1, limit: 100, offset: 0, hasMore: false});
				}; }`, w.ID, one.listed))
			p.do(chromedp.Navigate(shared.URL + "/webhooks/" + w.ID + "?sel=dlv_01ARZ3NDEKTSV4RRFFQ0000001"))
			const retry = `document.querySelector(".detail .body button.button")`
			p.until("the delivery", retry+`?.innerText === "Retry"`)
			p.do(chromedp.Evaluate(retry+`.focus()`, nil), chromedp.KeyEvent(kb.Enter))
			p.until("that it waits", `document.querySelector(".detail > header .state")?.innerText === "pending" && `+retry+`?.innerText === "Try now"`)
			if !p.holds(`document.activeElement === ` + retry) {
				t.Error("the focus is lost")
			}
		})
	}
}

// What is typed for an endpoint that another person changed meanwhile stays, beside what that made of it, and can be sent again.
func TestEndpointChangedByAnother(t *testing.T) {
	w := refusing(t, shared.Server, "pattern.deleted")
	p := open(t, "/webhooks/"+w.ID)
	p.away(true) // a conflict is an error to browsers
	p.click(button("Change"))
	p.fill(`document.querySelector("dialog input[name=url]")`, "http://127.0.0.1:9/hook-mine")
	if _, err := shared.Client.UpdateWebhook(t.Context(), w.ID, client.WebhookPatch{Events: []string{"execution.cancelled"}}); err != nil {
		t.Fatal(err)
	}
	save := `[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Change it" && !b.disabled)`
	p.click(save)
	p.until("the conflict", `document.querySelector("dialog .notice.bad")?.innerText.includes("CONFLICT") && `+save)
	if now, err := shared.Client.GetWebhook(t.Context(), w.ID); err != nil || now.URL != w.URL {
		t.Fatalf("the other's change is overwritten: %+v, %v", now, err)
	}
	if !p.holds(`document.querySelector("dialog form").innerText.includes("It is now: ` + w.URL + `, of execution.cancelled, patterns: all.")`) {
		t.Errorf("what the other made of it is not shown\n%s", p.text())
	}
	p.checkAxe(t, "an endpoint that another changed")
	p.click(save)
	p.until("that it is changed, or refused again", `!document.querySelector("dialog") || document.querySelector("dialog .notice.bad") && `+save)
	if now, err := shared.Client.GetWebhook(t.Context(), w.ID); err != nil || now.URL != "http://127.0.0.1:9/hook-mine" {
		t.Errorf("it cannot be sent again: %+v, %v\n%s", now, err, p.text())
	}
}
