package audit_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/coretest"
	sinks "github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/wire"
)

// output is where the log of a test goes.
type output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// lines returns the lines with a text.
func (o *output) lines(with string) (list []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range strings.Split(o.text.String(), "\n") {
		if strings.Contains(line, with) {
			list = append(list, line)
		}
	}
	return list
}

// refuser refuses each record for good, until it is repaired.
type refuser struct {
	mu     sync.Mutex // guards below
	works  bool
	opened chan struct{} // Open waits for it
	sent   int           // records that it was sent
	first  string        // the record that it refused first
}

func (s *refuser) Open(ctx context.Context, _ uint64) (uint64, error) {
	select {
	case <-s.opened:
		return 0, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (s *refuser) Write(_ context.Context, batch []sinks.Record) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent += len(batch)
	if s.works {
		return batch[len(batch)-1].Sequence, nil
	}
	if s.first == "" {
		s.first = string(batch[0].JSON)
	}
	return batch[0].Sequence - 1, sinks.Errorf(sinks.CodeRejected, "not this one")
}

func (s *refuser) Flush(context.Context) (uint64, error) { return 0, nil }

// A sink that refuses each record has a line in the log for the first, and one for all others of a pause; and what it is sent does
// not grow with the square of what it lacks.
func TestSinkThatRefusesAll(t *testing.T) {
	out := new(output)
	to := &refuser{opened: make(chan struct{})}
	r := newLoggedRig(t, "", []string{"picky"}, hclog.New(&hclog.LoggerOptions{Output: out}), func(c *audit.Config) { c.Queue = 1000 })
	r.Deliver(func(string) sinks.Sink { return to })
	for range 200 {
		if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
			t.Fatal(err)
		}
	}
	close(to.opened)
	const refused = "refuse"
	status := func() core.AuditSink {
		st, err := r.AuditStatus(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Sinks[0]
	}
	coretest.WaitFor(t, "the sink to be through", func() bool { return status().Behind == 0 })
	lines := out.lines(refused)
	if len(lines) != 1 || !strings.Contains(lines[0], "sequence=1 ") || !strings.Contains(lines[0], "eventId=aud_") || !strings.Contains(to.first, eventOf(lines[0])) {
		t.Errorf("%d lines, the first is %q", len(lines), append(lines, "")[0])
	}
	st := status()
	if st.Rejected != 400 || !strings.HasPrefix(st.LastRejected, "aud_") || strings.Contains(to.first, st.LastRejected) {
		t.Errorf("%+v", st)
	}
	to.mu.Lock()
	if sent := to.sent; sent > 400*20 {
		t.Errorf("400 records were sent %d times", sent)
	}
	to.works = true
	to.mu.Unlock()
	coretest.WaitFor(t, "the line of the others", func() bool {
		r.clock.Advance(5 * time.Second)
		return len(out.lines(refused)) > 1
	})
	if lines = out.lines(refused); len(lines) != 2 || !strings.Contains(lines[1], "count=399") || !strings.Contains(lines[1], "from=2") || !strings.Contains(lines[1], "to=400") {
		t.Errorf("%q", lines)
	}
}

// eventOf returns the id of the event that a line of the log names.
func eventOf(line string) string {
	_, rest, _ := strings.Cut(line, "eventId=")
	id, _, _ := strings.Cut(rest, " ")
	return strings.TrimSpace(id)
}

// flapper takes every second batch.
type flapper struct {
	mu    sync.Mutex // guards below
	calls int
}

func (s *flapper) Open(context.Context, uint64) (uint64, error) { return 0, nil }

func (s *flapper) Write(_ context.Context, batch []sinks.Record) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.calls%2 == 0 {
		return 0, sinks.Errorf(sinks.CodeUnavailable, "away")
	}
	return batch[len(batch)-1].Sequence, nil
}

func (s *flapper) Flush(context.Context) (uint64, error) { return 0, nil }

func (s *flapper) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// A sink that fails and works by turns has no line in the log for each turn.
func TestSinkThatFlaps(t *testing.T) {
	out := new(output)
	to := new(flapper)
	r := newLoggedRig(t, "", []string{"flaps"}, hclog.New(&hclog.LoggerOptions{Output: out}))
	r.Deliver(func(string) sinks.Sink { return to })
	began := r.clock.Now()
	for to.count() < 200 {
		if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(500 * time.Millisecond)
	}
	minutes := int(r.clock.Now().Sub(began)/time.Minute) + 1
	if n := len(out.lines("take")); n > 2*minutes+2 {
		t.Errorf("%d lines in %d minutes", n, minutes)
	}
}

// What is lost again and again is one alert for a while.
func TestAlertOfLoss(t *testing.T) {
	r := newRig(t, "", nil, func(c *audit.Config) { c.Queue = 1 })
	began := r.clock.Now()
	for n := 0; r.Lost() < 200 || n < 1000; n++ {
		entry := core.AuditEntry{Category: wire.AuditAuthentication, Action: "config.reload", Outcome: wire.AuditSuccess}
		if err := r.Record(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
		if n%20 == 0 {
			coretest.WaitFor(t, "what waits to be written", func() bool {
				r.clock.Advance(time.Second)
				return r.store.AuditHead().Sequence >= uint64(n/20)
			})
		}
	}
	minutes := int(r.clock.Now().Sub(began)/time.Minute) + 1
	if n := strings.Count(r.alerted(), "are lost"); n > minutes {
		t.Errorf("%d alerts in %d minutes, of %d lost", n, minutes, r.Lost())
	}
}
