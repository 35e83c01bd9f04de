package secrets_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/secrets"
	"github.com/wardroom/wardroom/sdk/secret"
)

// newStepRig is newRig with a clock whose time of day may be set.
func newStepRig(t *testing.T, change func(o *secrets.Options)) *rig {
	t.Helper()
	clock := coretest.NewStepClock()
	r := newRig(t, func(o *secrets.Options) {
		o.Clock = clock
		if change != nil {
			change(o)
		}
	})
	r.clock = clock
	return r
}

// A machine that was suspended, so that its own clock stood still, uses no value that has ended meanwhile.
func TestSuspended(t *testing.T) {
	r := newStepRig(t, func(o *secrets.Options) { o.Config.Refresh = 2 * time.Hour })
	r.vault.put("db", "p", canary, "1", r.clock.Now().Add(time.Hour).Round(0))
	r.wants(t, "p", canary)
	r.clock.Step(50 * time.Minute)
	r.vault.put("db", "p", canary+"2", "2", r.clock.Now().Add(time.Hour).Round(0))
	r.wants(t, "p", canary+"2") // two thirds of its life are over
	r.clock.Step(2 * time.Hour)
	r.vault.fail(secret.Errorf(secret.CodeUnavailable, "down"))
	r.fails(t, "p", secret.CodeUnavailable)
}

// looks has the service look at what it keeps a few times.
func (r *rig) looks(t *testing.T) {
	t.Helper()
	for range 64 {
		coretest.WaitFor(t, "the wait for a look, and that for another watch", func() bool { return r.clock.Pending() == 2 })
		r.clock.Advance(time.Second)
	}
	coretest.WaitFor(t, "the look to be over", func() bool { return r.clock.Pending() == 2 })
}

// What ends is asked for anew in time after a suspension too.
func TestKeepAfterSuspension(t *testing.T) {
	r := newStepRig(t, func(o *secrets.Options) { o.Config.Refresh = 2 * time.Hour })
	r.vault.put("db", "p", canary, "1", r.clock.Now().Add(time.Hour).Round(0))
	r.wants(t, "p", canary)
	r.Open()
	r.clock.Step(50 * time.Minute)
	r.looks(t)
	coretest.WaitFor(t, "the second call", func() bool { return r.vault.count() >= 2 })
}

// What is in use is not forgotten when the time of day is set, and so is kept while its provider is away.
func TestKeepWithClockSet(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		r := newStepRig(t, nil)
		r.Open()
		r.vault.put("db", "p", canary, "1", time.Time{})
		r.wants(t, "p", canary)
		r.vault.fail(secret.Errorf(secret.CodeUnavailable, "down"))
		r.clock.Step(step)
		r.looks(t)
		if list, _ := r.FindSecretProviders(t.Context()); list[len(list)-1].Secrets != 1 {
			t.Errorf("after a step of %s: %+v", step, list[len(list)-1])
		}
	}
}

// A change of which its provider tells while an answer is on its way is not lost: the answer may be from before.
func TestWatchDuringFetch(t *testing.T) {
	r := newRig(t, nil)
	r.vault.watching, r.vault.changes, r.vault.late = make(chan []secret.Ref, 8), make(chan []secret.Ref), make(chan struct{})
	r.vault.put("db", "p", canary, "1", time.Time{})
	r.Open()
	got := make(chan error, 1)
	go func() {
		_, err := r.Resolve(context.Background(), ref("p"), secret.Caller{})
		got <- err
	}()
	<-r.vault.watching
	coretest.WaitFor(t, "the answer", func() bool {
		r.vault.mu.Lock()
		defer r.vault.mu.Unlock()
		return r.vault.answers == 1
	})
	r.vault.put("db", "p", canary+"2", "2", time.Time{})
	r.vault.changes <- []secret.Ref{{Path: "db", Key: "p"}}
	r.vault.changes <- []secret.Ref{{Path: "another"}} // which is taken once the first is done with
	close(r.vault.late)
	if err := <-got; err != nil {
		t.Error(err)
	}
	coretest.WaitFor(t, "the change", func() bool {
		v, err := r.Resolve(t.Context(), ref("p"), secret.Caller{})
		return err == nil && v.Version() == "2"
	})
}

// What a plugin is refused that left meanwhile makes no room that there is not.
func TestLeaveDuringFetch(t *testing.T) {
	const most, count = 64 << 20, 40
	large := secret.NewValue(bytes.Repeat([]byte("x"), secrets.MaxValue), "1", time.Time{})
	fill := func(f *fake, n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i := range n {
			f.values[secret.Ref{Path: "db", Key: fmt.Sprint(i)}] = large
		}
	}
	r, other := newRig(t, nil), newFake()
	fill(other, count)
	r.Join("secrets-other", secrets.Plugin{Provider: other})
	resolve := func(provider string, i int) error {
		_, err := r.Resolve(context.Background(), core.SecretRef{Provider: provider, Path: "db", Key: fmt.Sprint(i)}, secret.Caller{})
		return err
	}
	for i := range count {
		if err := resolve("secrets-other", i); err != nil {
			t.Fatal(err)
		}
	}
	other.block = make(chan struct{})
	other.fail(secret.Errorf(secret.CodeForbidden, "no"))
	r.clock.Advance(2 * time.Minute)
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() { _ = resolve("secrets-other", i) })
	}
	coretest.WaitFor(t, "all to be asked for", func() bool { return other.count() == 2*count })
	r.Leave("secrets-other")
	close(other.block)
	wg.Wait()
	fill(r.vault, 2*count)
	for i := range 2 * count {
		if err := resolve("vault", i); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range r.Figures() {
		if f.Bytes > most {
			t.Errorf("%d bytes of %s are kept", f.Bytes, f.Provider)
		}
	}
}

// Whoever asks while a plugin leaves has nothing of it once another one is in its place.
func TestResolveWhileLeaving(t *testing.T) {
	const keys = 100
	r := newRig(t, nil)
	former, next := newFake(), newFake()
	for i := range keys {
		former.put("db", fmt.Sprint(i), canary, "1", time.Time{})
		next.put("db", fmt.Sprint(i), canary, "2", time.Time{})
	}
	version := func(i int) string {
		v, _ := r.Resolve(context.Background(), core.SecretRef{Provider: "secrets-other", Path: "db", Key: fmt.Sprint(i)}, secret.Caller{})
		return v.Version()
	}
	for range 100 {
		r.Join("secrets-other", secrets.Plugin{Provider: former})
		var wg sync.WaitGroup
		begun := make(chan struct{}, keys)
		for i := range keys {
			wg.Go(func() {
				if i%4 == 0 {
					begun <- struct{}{}
				}
				_ = version(i)
			})
		}
		<-begun
		r.Leave("secrets-other")
		r.Join("secrets-other", secrets.Plugin{Provider: next})
		wg.Wait()
		for i := range keys {
			if got := version(i); got != "2" {
				t.Fatalf("it is of version %q", got)
			}
		}
		r.Leave("secrets-other")
	}
}

// A value that ends in a far future is good for as long as others are.
func TestFarEnd(t *testing.T) {
	r := newRig(t, nil)
	r.vault.put("db", "p", canary, "1", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	r.wants(t, "p", canary)
	r.clock.Advance(30 * time.Second)
	r.wants(t, "p", canary)
	if n := r.vault.count(); n != 1 {
		t.Errorf("%d calls within half of a minute", n)
	}
}
