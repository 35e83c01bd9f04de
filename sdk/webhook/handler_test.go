package webhook_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// delivery makes a signed request as of now.
func delivery(id, body string) *http.Request {
	if body == "" {
		body = fmt.Sprintf(`{"id":%q,"type":"system.alert","timestamp":"2026-01-02T03:04:05.678Z","data":{"severity":"info"}}`, id)
	}
	now := time.Now()
	r := httptest.NewRequest("POST", "/hook", strings.NewReader(body))
	r.Header.Set("X-Service-Timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("X-Service-Signature", webhook.Sign("s", now, []byte(body)))
	return r
}

func TestHandler(t *testing.T) {
	var got []string
	var fails error
	h := webhook.Handler("s", func(e webhook.Event) error {
		got = append(got, e.ID)
		return fails
	})
	send := func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if w := send(delivery("evt_1", "")); w.Code != 200 || fmt.Sprint(got) != "[evt_1]" {
		t.Fatalf("%d, handled %v", w.Code, got)
	}
	fails = errors.New("the database is away")
	if w := send(delivery("evt_2", "")); w.Code != 500 || strings.Contains(w.Body.String(), "database") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	got, fails = nil, nil
	for name, c := range map[string]struct {
		change func(r *http.Request) *http.Request
		status int
	}{
		"unsigned": {func(r *http.Request) *http.Request { r.Header.Del("X-Service-Signature"); return r }, 401},
		"forged": {func(r *http.Request) *http.Request {
			r.Header.Set("X-Service-Signature", "sha256="+strings.Repeat("0", 64))
			return r
		}, 401},
		"old": {func(r *http.Request) *http.Request {
			for name, values := range vector() {
				r.Header[name] = values
			}
			return r
		}, 401},
		"GET":       {func(r *http.Request) *http.Request { r.Method = "GET"; return r }, 405},
		"no event":  {func(*http.Request) *http.Request { return delivery("", "[]") }, 400},
		"too large": {func(*http.Request) *http.Request { return delivery("", string(bytes.Repeat([]byte{' '}, 16<<20+1))) }, 413},
		"broken off": {func(r *http.Request) *http.Request {
			r.Body = broken{}
			return r
		}, 400},
	} {
		if w := send(c.change(delivery("evt_3", ""))); w.Code != c.status {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if got != nil {
		t.Errorf("handled %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a handler without a secret was made")
		}
	}()
	webhook.Handler("", nil)
}

// broken is a body that ends too early.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken off") }
func (broken) Close() error             { return nil }

func TestOnce(t *testing.T) {
	calls := map[string]int{}
	fails := map[string]bool{"c": true}
	handle := webhook.Once(2, func(e webhook.Event) error {
		calls[e.ID]++
		if fails[e.ID] {
			return errors.New("no")
		}
		return nil
	})
	for _, id := range []string{"a", "a", "b", "a", "c"} {
		if err := handle(webhook.Event{ID: id}); (err != nil) != fails[id] {
			t.Errorf("%s: %v", id, err)
		}
	}
	fails["c"] = false
	for _, id := range []string{"c", "c", "b", "a"} { // c drove a out
		if err := handle(webhook.Event{ID: id}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if got := fmt.Sprint(calls); got != "map[a:2 b:1 c:2]" {
		t.Errorf("handled %s", got)
	}
}

// TestOnceBeside: an event that comes twice at the same time is handled once, and one that panics is tried again.
func TestOnceBeside(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	handle := webhook.Once(0, func(e webhook.Event) error {
		if e.ID == "panics" {
			panic("bug")
		}
		close(begun)
		<-end
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := handle(webhook.Event{ID: "a"}); err != nil {
			t.Error(err)
		}
	})
	<-begun
	if err := handle(webhook.Event{ID: "a"}); !errors.Is(err, webhook.ErrBusy) {
		t.Errorf("err = %v", err)
	}
	close(end)
	wg.Wait()
	if err := handle(webhook.Event{ID: "a"}); err != nil {
		t.Error(err)
	}
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was lost, or the event taken for handled")
				}
			}()
			_ = handle(webhook.Event{ID: "panics"})
		}()
	}
}
