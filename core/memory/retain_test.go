package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/memory"
	"github.com/wardroom/wardroom/sdk/wire"
)

// count is how many experiences the store has.
func (r *rig) count() int { return len(r.store.ids()) }

func TestRetentionByCount(t *testing.T) {
	r := newRig(t, "")
	for i := range 450 {
		r.clock.Advance(time.Second)
		r.keep(core.Experience{Experience: wire.Experience{Objective: fmt.Sprintf("login%d", i)}})
	}
	c := r.opts.Config
	c.MaxCount = 10
	r.ApplyConfig(c)
	coretest.WaitFor(t, "the oldest to go", func() bool { return r.count() == 10 })
	if got := r.found(core.ExperienceFilter{Query: "login0 login439 login440 login449"}); len(got) != len("login440, login449") {
		t.Errorf("found %q", got)
	}
}

func TestRetentionByAge(t *testing.T) {
	var asked atomic.Int64 // while the clock is not believed
	var doubt atomic.Bool
	r := newRig(t, "", func(o *memory.Options) {
		clock := o.Clock
		o.Older = func(since time.Time, age time.Duration) bool {
			if doubt.Load() {
				asked.Add(1)
				return false
			}
			return core.OlderBy(clock)(since, age)
		}
	})
	c := r.opts.Config
	c.MaxAge = 10 * time.Hour
	r.ApplyConfig(c)
	old := core.Experience{Experience: wire.Experience{Objective: "login old"}}
	again := core.Experience{Experience: wire.Experience{Objective: "login again"}}
	r.keep(old, again)
	r.total(login)
	// The timer is set anew after each run, so the clock goes in small steps.
	step := func(d time.Duration) {
		coretest.WaitFor(t, "the timer", func() bool { return r.clock.Pending() > 0 })
		r.clock.Advance(d)
	}
	for range 8 {
		step(time.Hour)
	}
	r.keep(again)
	if r.count() != 2 {
		t.Fatalf("%d are left too early", r.count())
	}
	doubt.Store(true)
	for range 4 {
		step(time.Hour)
	}
	coretest.WaitFor(t, "a look by a clock that is not believed", func() bool { return asked.Load() > 0 })
	if r.count() != 2 {
		t.Fatal("a clock that is not believed removes experiences")
	}
	doubt.Store(false)
	step(time.Hour)
	coretest.WaitFor(t, "the old one to go", func() bool { return r.count() == 1 })
	if got := r.found(core.ExperienceFilter{Query: "login"}); got != "login again" {
		t.Errorf("found %q", got)
	}
}

// Experiences are kept no longer because the index cannot be made, such as on a disk that cannot be written.
func TestRetentionWithoutIndex(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, filepath.Join(file, "index"), func(o *memory.Options) { o.Config.MaxAge = 10 * time.Hour })
	_, _, err := r.FindExperiences(t.Context(), login)
	if e := core.AsError(err); !e.Unavailable {
		t.Fatalf("there is an index: %v", err)
	}
	r.keepMany(1, r.keep)
	coretest.WaitFor(t, "the old one to go", func() bool {
		r.clock.Advance(time.Hour)
		return r.count() == 0
	})
	r.keepMany(3, r.keep)
	if r.count() != 3 {
		t.Errorf("%d of 3 are left", r.count())
	}
}
