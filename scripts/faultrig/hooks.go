package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/webhook"
)

const hookSecret = "whsec_faultrig-knows-it"

// hookSlow is how long every hookNth answer takes, so that kills meet deliveries under way.
const (
	hookSlow = 200 * time.Millisecond
	hookNth  = 7
)

// hooks is the receiver of webhooks: it checks every signature, and keeps what came.
type hooks struct {
	receiver *testbed.Receiver

	mu       sync.Mutex           // guards all below
	events   map[hookEvent]string // to the event's id
	seen     map[string]int       // deliveries by the event's id
	total    int
	alarms   int // events that say that something is wrong with the core
	problems []error
}

// hookEvent names what happened, once in the life of an execution.
type hookEvent struct{ execution, kind string }

// newHooks starts the receiver, and has a configuration deliver everything to it.
func newHooks(dir string) (*hooks, error) {
	h := &hooks{events: map[hookEvent]string{}, seen: map[string]int{}}
	var err error
	if h.receiver, err = testbed.Receive(h); err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, "conf.d")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return h, err
	}
	text := fmt.Sprintf("server: {environment: development}\nwebhooks: {endpoints: [{url: \"%s/hook\", events: [\"*\"], secret: %s}]}\n",
		h.receiver.URL, hookSecret)
	return h, os.WriteFile(filepath.Join(folder, "hooks.yaml"), []byte(text), 0o600)
}

// ServeHTTP takes one delivery.
func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the core was killed while it sent
	}
	e, err := webhook.Verify(hookSecret, r.Header, body, -1, time.Now()) // at any time: the rig moves the clock of the sender
	var data struct {
		ExecutionID string `json:"executionId"`
	}
	if err == nil {
		err = e.Decode(&data)
	}
	if h.take(e, data.ExecutionID, err)%hookNth == 0 {
		timer := time.NewTimer(hookSlow)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// take keeps an event and returns how many deliveries came.
func (h *hooks) take(e webhook.Event, execution string, err error) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total++
	if err != nil {
		h.problems = append(h.problems, fmt.Errorf("a delivery of a webhook is not what it should be: %w", err))
		return h.total
	}
	h.seen[e.ID]++
	if e.Type == "system.alert" {
		h.alarms++
	}
	if !strings.HasPrefix(e.Type, "execution.") {
		return h.total // an execution has several threads, and each may wait more than once
	}
	if execution == "" {
		return h.total
	}
	key := hookEvent{execution, e.Type}
	if id, ok := h.events[key]; ok && id != e.ID {
		h.problems = append(h.problems, fmt.Errorf("%s of %s was delivered as the events %s and %s", e.Type, execution, id, e.ID))
	}
	h.events[key] = e.ID
	return h.total
}

// missing returns what should have come of executions that are over, and did not.
func (h *hooks) missing(executions map[string]*proof.Execution) []hookEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []hookEvent
	for _, e := range executions {
		key := hookEvent{e.ID, "execution." + e.Status}
		switch e.Status {
		case "completed", "failed", "cancelled":
		default:
			continue
		}
		if _, ok := h.events[key]; !ok {
			list = append(list, key)
		}
		if e.Status != "completed" {
			continue // others may have ended before they began
		}
		begun := hookEvent{e.ID, "execution.started"}
		if _, ok := h.events[begun]; !ok {
			list = append(list, begun)
		}
	}
	return list
}

// prove waits until every event of executions that are over came, and returns what is wrong.
func (h *hooks) prove(ctx context.Context, executions map[string]*proof.Execution) []error {
	deadline := time.Now().Add(quietLimit)
	list := h.missing(executions)
	for len(list) > 0 && time.Now().Before(deadline) && pause(ctx, 50*time.Millisecond) {
		list = h.missing(executions)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	problems := h.problems
	h.problems = nil
	if len(list) > 0 {
		problems = append(problems, fmt.Errorf("lost: %d events did not reach the webhook, the first is %s of %s", len(list), list[0].kind, list[0].execution))
	}
	return problems
}

// alerts returns how many alerts came.
func (h *hooks) alerts() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alarms
}

// counts returns how many events came, and how many deliveries came again.
func (h *hooks) counts() (events, again int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen), h.total - len(h.seen)
}

// some reports whether anything came at all: a receiver that hears nothing proves nothing.
func (h *hooks) some() error {
	if events, _ := h.counts(); events == 0 {
		return errors.New("no event at all reached the webhook")
	}
	return nil
}
