package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/webhook"
	"github.com/wardroom/wardroom/core/webhook/target"
)

var ctx = context.Background()

// rig is a service over a store in memory.
type rig struct {
	tb    testing.TB
	store *memory
	clock *coretest.Clock
	ids   core.IDs
	opts  webhook.Options
	*webhook.Service
}

// newRig opens a service that may dial loopback addresses. change may alter its options.
func newRig(tb testing.TB, change func(o *webhook.Options)) *rig {
	tb.Helper()
	r := &rig{tb: tb, store: newMemory(tb), clock: coretest.NewClock()}
	r.ids = core.NewIDs(r.clock)
	r.opts = webhook.Options{
		Store: r.store, Clock: r.clock, IDs: r.ids, SealKey: [32]byte{1}, Version: "1.2.3",
		Config: webhook.Config{Guard: &target.Guard{Development: true}},
		Jitter: func() float64 { return 0 },
	}
	if change != nil {
		change(&r.opts)
	}
	r.open()
	tb.Cleanup(func() { r.Close() })
	return r
}

func (r *rig) open() {
	r.tb.Helper()
	r.Service = webhook.New(r.opts)
	if err := r.Open(ctx); err != nil {
		r.tb.Fatal(err)
	}
}

// restart ends the service, and opens another over the same store.
func (r *rig) restart() {
	r.tb.Helper()
	r.Close()
	r.open()
}

func (r *rig) create(spec core.WebhookSpec) *core.Webhook {
	r.tb.Helper()
	if spec.Events == nil {
		spec.Events = []core.EventType{core.AllEvents}
	}
	w, err := r.CreateWebhook(ctx, spec)
	if err != nil {
		r.tb.Fatal(err)
	}
	return w
}

// emit writes an event, and tells the service.
func (r *rig) emit(kind core.EventType, subject string, data any) core.Event {
	r.tb.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		r.tb.Fatal(err)
	}
	e := []core.Event{{ID: r.ids.New(core.PrefixEvent), Type: kind, Time: r.clock.Now(), Subject: subject, Data: raw}}
	if err := r.store.Update(ctx, func(tx core.Tx) error { return tx.Append(e...) }); err != nil {
		r.tb.Fatal(err)
	}
	r.Notify()
	return e[0]
}

// wait waits until so many deliveries have a status, and the service has taken over all that is stored.
func (r *rig) wait(n int, status core.DeliveryStatus) {
	r.tb.Helper()
	coretest.WaitFor(r.tb, fmt.Sprintf("%d deliveries to be %s", n, status), func() bool {
		return r.store.count(status) == n && r.Stats().Waiting == 0
	})
}

// holdReader lets the next deliveries that are stored wait before they are offered to their windows. It returns a channel that is
// closed once they are stored, and what lets them go on.
func (r *rig) holdReader() (stored <-chan struct{}, offer func()) {
	done, offered := make(chan struct{}), make(chan struct{})
	offer = sync.OnceFunc(func() { close(offered) })
	r.tb.Cleanup(offer)
	hook := func() {
		close(done)
		<-offered
	}
	r.store.committed.Store(&hook)
	return done, offer
}

// attempts waits until the only delivery had so many attempts, that are stored and taken over: the next one is planned.
func (r *rig) attempts(n int) *core.Delivery {
	r.tb.Helper()
	coretest.WaitFor(r.tb, fmt.Sprintf("%d attempts", n), func() bool {
		rows := r.store.rows()
		return len(rows) == 1 && rows[0].Attempts == n && r.Stats().Waiting == 0 && (rows[0].Status != core.DeliveryPending || rows[0].NextAt.After(r.clock.Now()))
	})
	return r.store.rows()[0]
}

// step moves the clock in steps that let goroutines which wait for it have their turn.
func (r *rig) step(d time.Duration) { r.clock.Advance(d) }

// received is one request as it came in.
type received struct {
	header http.Header
	body   []byte
	event  envelope
	at     time.Time // by the rig's clock
}

type envelope struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	Timestamp time.Time      `json:"timestamp"`
	Data      map[string]any `json:"data"`
}

// receiver is an endpoint that keeps what it gets.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex // guards all below
	list   []received
	answer http.HandlerFunc
}

// receive starts a receiver. answer may be nil: 200.
func (r *rig) receive(answer http.HandlerFunc) *receiver {
	in := &receiver{answer: answer}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		got := received{header: q.Header.Clone(), body: body, at: r.clock.Now()}
		_ = json.Unmarshal(body, &got.event) // tests look at what is missing
		in.mu.Lock()
		in.list = append(in.list, got)
		answer := in.answer
		in.mu.Unlock()
		if answer != nil {
			answer(w, q)
		}
	}))
	r.tb.Cleanup(func() {
		r.Close()
		in.CloseClientConnections()
		in.Close()
	})
	return in
}

func (in *receiver) all() []received {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.list[:len(in.list):len(in.list)]
}

func (in *receiver) set(answer http.HandlerFunc) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.answer = answer
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// verify checks that one of the signatures of a request is that of a secret, and returns how many there are.
func verify(tb testing.TB, got received, secret string) int {
	tb.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(got.header.Get("X-Service-Timestamp") + "."))
	mac.Write(got.body)
	want := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	list := strings.Split(got.header.Get("X-Service-Signature"), ",")
	for _, text := range list {
		if text == want {
			return len(list)
		}
	}
	tb.Fatalf("no signature of %q is that of the secret", list)
	return 0
}

func wantCode(tb testing.TB, err error, want core.Code) {
	tb.Helper()
	if got := core.ErrorCode(err); got != want {
		tb.Fatalf("got error %v, want code %s", err, want)
	}
}

func ptr[T any](v T) *T { return &v }
