package webhook

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestRetryAfterText(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"90":                            90 * time.Second,
		"-5":                            0,
		"soon":                          0,
		"1e3":                           0,
		"99999999999999999999999":       0,
		"18446744073709551615":          24 * time.Hour,
		"100000000":                     24 * time.Hour,
		"Fri, 02 Jan 2026 03:06:05 GMT": 2 * time.Minute,
		"Fri, 02 Jan 2020 03:06:05 GMT": 0,
		"Fri, 02 Jan 2099 03:06:05 GMT": 24 * time.Hour,
	} {
		h := http.Header{"Retry-After": {text}}
		if got := retryAfter(429, h, at); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
		if got := retryAfter(500, h, at); got != 0 {
			t.Errorf("a 500 asks for %s", got)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("Fri, 02 Jan 2026 03:06:05 GMT")
	f.Fuzz(func(t *testing.T, text string) {
		if d := retryAfter(503, http.Header{"Retry-After": {text}}, at); d < 0 || d > maxRetryAfter {
			t.Errorf("%q is %s", text, d)
		}
	})
}

// FuzzHeaders: what passes the check makes a request that has these headers, our own, and no others.
func FuzzHeaders(f *testing.F) {
	f.Add("X-Tenant", "a")
	f.Add("host", "b")
	f.Add("X-A\r\nX-B", "c")
	f.Add("x-SERVICE-signature", "d")
	f.Fuzz(func(t *testing.T, name, value string) {
		var p problems
		headers := map[string]string{name: value}
		checkHeaders(&p, headers)
		if len(p) > 0 {
			return
		}
		d := &core.Delivery{ID: "dlv_1", Event: core.EventSystemAlert}
		h := requestHeader(headers, []string{"s"}, d, []byte("{}"), "Wardroom", at)
		var wire strings.Builder
		if err := h.Write(&wire); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(wire.String(), "\r\n")
		if lines != len(h) || lines > 7 || h.Get(headerDelivery) != "dlv_1" || h.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %q makes %q", name, value, wire.String())
		}
	})
}

func FuzzEnvelope(f *testing.F) {
	f.Add("evt_1", `{"a":1}`)
	f.Add("\"\x00", ``)
	f.Fuzz(func(t *testing.T, id, data string) {
		if data != "" && !json.Valid([]byte(data)) {
			return
		}
		if b := envelope(id, core.EventSystemAlert, at, json.RawMessage(data)); !json.Valid(b) {
			t.Errorf("%s is not JSON", b)
		}
	})
}

func TestWait(t *testing.T) {
	for n, want := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour} {
		for _, jitter := range []float64{0, 0.5, 0.999} {
			if got := wait(n+1, 0, jitter); got < want || got > want+want/50 {
				t.Errorf("after %d attempts with jitter %v: %s, want %s to 2 %% more", n+1, jitter, got, want)
			}
		}
	}
	if got := wait(1, 72*time.Hour, 0); got != 24*time.Hour {
		t.Errorf("a receiver that asks for three days gets %s, want one day", got)
	}
}
