package threads_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// TestBurst sends many messages while the service is killed now and then: each that was acknowledged is given to the
// agent once, in the order of the calls.
func TestBurst(t *testing.T) {
	total := 10_000
	if raced { // many times as slow, and each message goes the same way; the service is killed as often
		total = 2000
	}
	if testing.Short() {
		total = 1000
	}
	r := newRig(t, core.SystemClock{}).open()
	s := spec()
	s.Objective = ""
	id := r.spawn(s).ID
	var want []string
	for len(want) < total {
		if len(want)%(total/5) == total/10 {
			r.store.failAfter(3)
		}
		text := fmt.Sprint("m", len(want))
		_, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: text})
		if err == nil {
			want = append(want, text)
			continue
		}
		select {
		case <-r.store.Failed():
			r.Close()
			r.store.Heal()
			r.open()
		default:
			t.Fatalf("message %d: %v", len(want), err)
		}
	}
	select {
	case <-r.store.Failed():
		r.Close()
		r.store.Heal()
		r.open()
	default:
	}
	for n := total / 200; n <= total; n += total / 200 { // a slow machine gets its time
		coretest.WaitFor(t, fmt.Sprint("message ", n), func() bool { return r.agents.count() >= n })
	}
	if got := r.agents.messages(); !slices.Equal(got, want) {
		for i := range got {
			if i >= len(want) || got[i] != want[i] {
				t.Fatalf("%d messages; message %d is %q", len(got), i, got[i])
			}
		}
	}
	r.until(id, "an empty queue", func(rec *core.ThreadRecord) bool { return rec.QueuedInputs == 0 })
}

func TestSendsAtOnce(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if !strings.HasPrefix(text, "hold") {
			a.end("ok")
		}
	}
	r.open()
	s := spec()
	s.Objective = "hold"
	id := r.spawn(s).ID
	r.untilStatus(id, core.ThreadRunning)
	const senders = 200
	numbers := make([]string, senders)
	var wg sync.WaitGroup
	for i := range senders {
		wg.Add(1)
		go func() {
			defer wg.Done()
			receipt, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: fmt.Sprint("m", i)})
			if err != nil || !receipt.Sent {
				t.Errorf("send: %+v, %v", receipt, err)
			}
			numbers[i] = receipt.InputID
		}()
	}
	wg.Wait()
	queue, _ := r.store.QueuedInputs(r.ctx, id, 0, 1000)
	var want []string
	for _, in := range queue {
		if !strings.HasPrefix(in.Message, "hold") {
			want = append(want, in.Message)
		}
	}
	if len(want) != senders {
		t.Fatalf("%d messages wait", len(want))
	}
	r.agents.do("", func(a *scripted) { a.end("held") })
	coretest.WaitFor(t, "all messages", func() bool { return len(r.agents.messages()) == senders+1 })
	if got := r.agents.messages()[1:]; !slices.Equal(got, want) {
		t.Errorf("given %q\nwant %q", got, want)
	}
}

func TestSendBounds(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.config.MaxQueued, r.config.MaxQueuedBytes = 3, 1000
	r.agents.script = func(a *scripted, _ string) { a.busy() }
	r.open()
	id := r.spawn(spec()).ID
	r.until(id, "a turn", func(rec *core.ThreadRecord) bool { return rec.Status == core.ThreadRunning && rec.QueuedInputs == 0 })
	for name, tt := range map[string]struct {
		in   core.ThreadInput
		want core.Code
	}{
		"nothing":      {core.ThreadInput{}, core.CodeValidation},
		"two":          {core.ThreadInput{Message: "a", Raw: "b"}, core.CodeValidation},
		"white space":  {core.ThreadInput{Message: " \n"}, core.CodeValidation},
		"not UTF-8":    {core.ThreadInput{Message: "a\xff"}, core.CodeValidation},
		"too long":     {core.ThreadInput{Message: strings.Repeat("x", 1001)}, core.CodeRateLimited},
		"far too long": {core.ThreadInput{Message: strings.Repeat("x", 2<<20)}, core.CodeValidation},
	} {
		if _, err := r.SendThread(r.ctx, id, tt.in); core.ErrorCode(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	for i := range 3 {
		if receipt, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "m"}); err != nil || receipt.Queued != i+1 {
			t.Errorf("message %d: %+v, %v", i, receipt, err)
		}
	}
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "m"}); core.ErrorCode(err) != core.CodeRateLimited {
		t.Errorf("one too many: %v", err)
	}
	if receipt, err := r.SendThread(r.ctx, id, core.ThreadInput{Keys: []string{"ESC"}}); err != nil || !receipt.Sent {
		t.Errorf("keys: %+v, %v", receipt, err)
	}
	if _, err := r.SendThread(r.ctx, "thread_nobody", core.ThreadInput{Message: "m"}); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("to nobody: %v", err)
	}
	r.reopen()
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "m"}); core.ErrorCode(err) != core.CodeRateLimited {
		t.Errorf("after a restart: %v", err)
	}
}

// TestRefusedSends has the runtime refuse messages in every way: none is lost, none is given twice.
func TestRefusedSends(t *testing.T) {
	for _, code := range []string{"NOT_DELIVERED", "NOT_RUNNING", "AUTH_REQUIRED", "INTERNAL", "TIMEOUT"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, core.SystemClock{})
			refusals := 2
			r.agents.send = func(core.ManagedAgentInput) error {
				if refusals--; refusals >= 0 {
					return runtimeError(core.CodeConflict, code)
				}
				return nil
			}
			r.open()
			id := r.spawn(spec()).ID
			r.until(id, "the turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 && rec.SentSeq == 1 })
			if got := r.agents.messages(); len(got) != 1 {
				t.Errorf("given %q", got)
			}
		})
	}
}

func TestUnsureSend(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock)
	var keys []string
	taken := false
	r.agents.send = func(in core.ManagedAgentInput) error {
		if keys = append(keys, in.Key); keys[0] != in.Key {
			return nil
		}
		if taken {
			s := &scripted{f: r.agents, r: r.agents.records[0]}
			s.busy()
			s.end("it was taken")
		}
		return runtimeError(core.CodeConflict, "DELIVERY_UNKNOWN")
	}
	r.open()
	id := r.spawn(spec()).ID
	r.until(id, "a turn with another key", func(rec *core.ThreadRecord) bool {
		clock.Advance(1e9)
		return rec.TurnCount == 1 && rec.SentSeq == 1
	})
	if len(keys) != 5 || keys[3] != keys[0] || keys[4] != keys[0]+".2" {
		t.Errorf("keys %q", keys)
	}
	keys, taken = nil, true
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "again"}); err != nil {
		t.Fatal(err)
	}
	r.until(id, "the second turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 2 && rec.SentSeq == 2 })
	if len(keys) != 1 {
		t.Errorf("keys %q", keys)
	}
}

// TestCutSend: a call was cut off, no turn showed, and the runtime knows by the key that the message was taken. It is not given
// to the agent a second time.
func TestCutSend(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock)
	var keys []string
	r.agents.send = func(in core.ManagedAgentInput) error {
		if keys = append(keys, in.Key); len(keys) == 1 {
			return runtimeError(core.CodeConflict, "DELIVERY_UNKNOWN")
		}
		return nil
	}
	r.open()
	id := r.spawn(spec()).ID
	r.until(id, "the turn", func(rec *core.ThreadRecord) bool {
		clock.Advance(1e9)
		return rec.TurnCount == 1 && rec.SentSeq == 1
	})
	if len(keys) != 2 || keys[1] != keys[0] {
		t.Errorf("keys %q", keys)
	}
}

func TestIdempotentSend(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	id := r.readied(spec())
	ctx := core.WithIdempotency(r.ctx, &core.IdempotencyClaim{Key: "k"})
	var errs [8]error
	var wg sync.WaitGroup
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, errs[i] = r.SendThread(ctx, id, core.ThreadInput{Message: "once"})
		}()
	}
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "beside"}); err != nil {
		t.Errorf("a message beside them: %v", err)
	}
	wg.Wait()
	taken := 0
	for _, err := range errs {
		if err == nil {
			taken++
		} else if core.ErrorCode(err) != core.CodeConflict {
			t.Error(errors.Unwrap(err))
		}
	}
	if taken != 1 {
		t.Errorf("%d of them were taken", taken)
	}
}

// TestSendAgain: what does not wait in a queue is sent again by who does not know what became of it, and reaches the agent once,
// whether its first request failed before the agent had it or behind that.
func TestSendAgain(t *testing.T) {
	for name, in := range map[string]core.ThreadInput{
		"raw": {Raw: "y"}, "keys": {Keys: []string{"enter"}}, "message": {Message: "by hand"},
	} {
		for _, had := range []bool{false, true} {
			t.Run(fmt.Sprint(name, had), func(t *testing.T) {
				r := newRig(t, core.SystemClock{}).open()
				r.pattern("exec_1", true)
				a, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
				if err != nil {
					t.Fatal(err)
				}
				id := r.roleOf().ID
				r.until(id, "its agent", func(rec *core.ThreadRecord) bool { return rec.ManagedAgentID == a.ID && rec.Status == core.ThreadReady })
				ctx := core.WithIdempotency(r.ctx, &core.IdempotencyClaim{Key: "k"})
				if !had {
					r.agents.send = func(core.ManagedAgentInput) error { return runtimeError(core.CodeConflict, "BLOCKED") }
				}
				if _, err := r.SendThread(ctx, id, in); (err == nil) != had {
					t.Fatalf("the first time: %v", err)
				}
				r.agents.send = nil
				again := in
				if again.InputID = r.store.claimed("k"); again.InputID == "" {
					t.Fatal("its key is not claimed")
				}
				for range 2 {
					receipt, err := r.SendThread(r.ctx, id, again)
					if err != nil || !receipt.Sent || in.Message != "" && receipt.InputID != again.InputID {
						t.Errorf("again: %+v, %v", receipt, err)
					}
				}
				if got := r.agents.messages(); len(got) != 1 {
					t.Errorf("the agent got %q", got)
				}
				events, _, err := r.store.Events(r.ctx, id, 0, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				sent := slices.DeleteFunc(events, func(ev core.Event) bool {
					return ev.Type != core.EventThreadInput || field(ev, "inputId") != again.InputID
				})
				if want := map[bool]int{true: 1}[in.Message != ""]; len(sent) != want {
					t.Errorf("it has %d events, want %d", len(sent), want)
				}
			})
		}
	}
}

// TestSendAgainStored: a message that was stored is not stored again, also when its thread is over by then.
func TestSendAgainStored(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	id := r.readied(spec())
	ctx := core.WithIdempotency(r.ctx, &core.IdempotencyClaim{Key: "k"})
	first, err := r.SendThread(ctx, id, core.ThreadInput{Message: "once"})
	if err != nil || first.InputID != r.store.claimed("k") {
		t.Fatalf("%+v, %v", first, err)
	}
	r.until(id, "its turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 2 && rec.QueuedInputs == 0 })
	before := r.agents.messages()
	check := func() {
		t.Helper()
		again, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "once", InputID: first.InputID})
		if err != nil || !again.Sent || again.InputID != first.InputID {
			t.Errorf("again: %+v, %v", again, err)
		}
	}
	check()
	if err := r.StopThread(r.ctx, id, core.ThreadStop{}); err != nil {
		t.Fatal(err)
	}
	r.untilStatus(id, core.ThreadStopped)
	check()
	if got := r.agents.messages(); !slices.Equal(got, before) {
		t.Errorf("the agent got %q, before %q", got, before)
	}
}
