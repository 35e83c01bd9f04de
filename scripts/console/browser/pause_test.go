package browser_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// timing keeps how long the timers of a page are that are far off, and those that are over at once: of less than nothing, of no number,
// or of more than 24 days.
const timing = `{ const real = window.setTimeout; window.hasty = []; window.far = [];
	window.setTimeout = (f, ms = 0, ...rest) => { if (!(ms >= 0 && ms < 2 ** 31)) hasty.push(ms); else if (ms > 60_000) far.push(ms); return real(f, ms, ...rest); }; }`

// Whatever Retry-After a proxy sends, a server that is away is not asked again without a pause.
func TestPauseThatProxiesAskFor(t *testing.T) {
	for _, one := range []struct{ name, retryAfter string }{
		{"date", time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat)}, {"far", "99999999"}, {"words", "soon"},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := beforeIn(t, timing)
			p.away(true) // refusals are errors to browsers
			p.instead("*/api/executions?*", func() *answer {
				return &answer{status: 503, headers: map[string]string{"Retry-After": one.retryAfter}, body: `{"error": {"code": "UNAVAILABLE", "message": "maintenance"}}`}
			})
			p.do(chromedp.Navigate(shared.URL + "/executions"))
			p.until("that it is away", `document.querySelector("main .notice.bad")?.innerText.includes("maintenance")`)
			if !p.holds(`hasty.length === 0`) {
				t.Error("the console asks again at once")
			}
		})
	}
}

// A pause that the server asks for is made, unless a person tries again before.
func TestPauseIsMade(t *testing.T) {
	p := beforeIn(t, timing)
	p.away(true) // refusals are errors to browsers
	asked := 0
	p.instead("*/api/batches?*", func() *answer {
		p.mu.Lock()
		defer p.mu.Unlock()
		if asked++; asked > 1 {
			return nil
		}
		return &answer{status: 429, headers: map[string]string{"Retry-After": "600"}, body: `{"error": {"code": "RATE_LIMITED", "message": "too many"}}`}
	})
	p.do(chromedp.Navigate(shared.URL + "/batches"))
	p.until("a refusal, or another try", `document.querySelector("main .notice.bad, main .empty, main tr[data-index]")`)
	if !p.holds(`far.some((ms) => ms > 590_000)`) {
		t.Error("the console does not wait for as long as the server asks for")
	}
	p.click(button("Try again"))
	p.until("the list", `document.querySelector("main .empty, main tr[data-index]")`)
}
