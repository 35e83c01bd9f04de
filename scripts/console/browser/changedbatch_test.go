package browser_test

import (
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Inputs that are changed after the answer to a batch was lost are another batch: the server is not asked for the first one again.
func TestChangedBatchAfterLostAnswer(t *testing.T) {
	putUrgency(t)
	p := openIn(t, "about:blank")
	p.away(true)
	var once sync.Once
	p.insteadOf("*/api/batch/execute", func(r *network.Request) (a *answer) {
		once.Do(func() {
			send(t, r, `{"pattern": "urgency", "inputs": [{"text": "first"}], "options": {"concurrency": 5, "stopOnError": false}}`)
			a = &answer{status: 503, body: `{"error": {"code": "INTERNAL_ERROR", "message": "the answer is lost"}}`}
		})
		return a
	})
	p.do(chromedp.Navigate(shared.URL + "/batches"))
	p.click(button("Start one"))
	p.click(css("dialog input[name=pattern]"))
	p.do(chromedp.KeyEvent("urgency"))
	p.click(css("dialog textarea"))
	p.do(chromedp.KeyEvent(`{"text": "first"}`))
	p.click(button("Start 1 item"))
	p.until("that the answer is lost", `document.querySelector("dialog .notice.bad")?.innerText.includes("the answer is lost")`)
	p.click(css("dialog textarea"))
	p.do(chromedp.KeyEvent("\n" + `{"text": "second"}`))
	p.click(button("Start 2 items"))
	p.until("an answer", `location.pathname.startsWith("/batches/batch_") || document.querySelector("dialog .notice.bad")?.innerText.includes("Idempotency-Key")`)
	if !p.holds(`location.pathname.startsWith("/batches/batch_")`) {
		t.Error(p.text())
	}
}
