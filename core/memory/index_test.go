package memory_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/memory"
	"github.com/wardroom/wardroom/sdk/wire"
)

var login = core.ExperienceFilter{Query: "login", Page: core.Page{Limit: 100}}

// total is how many experiences a query finds.
func (r *rig) total(f core.ExperienceFilter) int {
	r.t.Helper()
	list, info, err := r.FindExperiences(r.t.Context(), f)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(list) != info.Total {
		r.t.Fatalf("%d of %d are there", len(list), info.Total)
	}
	return info.Total
}

func (r *rig) close() {
	r.t.Helper()
	if err := r.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// keepMany stores n experiences about the login, one a minute.
func (r *rig) keepMany(n int, keep func(...core.Experience) []*core.Experience) {
	r.t.Helper()
	for range n {
		r.clock.Advance(time.Minute)
		keep(core.Experience{Experience: wire.Experience{Objective: fmt.Sprintf("login variant%d", r.made), Repo: "a"}})
		r.made++
	}
}

func TestIndexCatchesUp(t *testing.T) {
	for _, tt := range []struct {
		name   string
		during func(t *testing.T, r *rig, path string) // while the service is closed
		want   int
	}{
		{"Nothing", func(*testing.T, *rig, string) {}, 30},
		{"Added", func(_ *testing.T, r *rig, _ string) { r.keepMany(5, r.keepUntold) }, 35},
		{"Removed", func(_ *testing.T, r *rig, _ string) {
			ids := r.store.ids()
			r.store.drop(ids[0])
			r.store.drop(ids[29])
		}, 28},
		{"AddedAndRemoved", func(_ *testing.T, r *rig, _ string) {
			r.keepMany(3, r.keepUntold)
			for _, id := range r.store.ids()[:3] {
				r.store.drop(id)
			}
		}, 30},
		{"AddedBefore", func(_ *testing.T, r *rig, _ string) {
			r.store.put(&core.Experience{Experience: wire.Experience{ID: core.IDBound(core.PrefixMemory, time.UnixMilli(5)), Objective: "login of old", Outcome: "failed", CreatedAt: r.clock.Now()}})
		}, 31},
		{"Restored", func(_ *testing.T, r *rig, _ string) { // as many, all of them other ones
			for i, id := range r.store.ids() {
				r.store.drop(id)
				r.store.put(&core.Experience{
					Experience: wire.Experience{
						ID: core.IDBound(core.PrefixMemory, time.UnixMilli(int64(i+1))), Objective: "login", Outcome: "failed", CreatedAt: r.clock.Now(),
					},
				})
			}
		}, 30},
		{"AllRemoved", func(_ *testing.T, r *rig, _ string) {
			for _, id := range r.store.ids() {
				r.store.drop(id)
			}
		}, 0},
		{"IndexRemoved", func(t *testing.T, _ *rig, path string) { must(t, os.RemoveAll(path)) }, 30},
		{"MetaRemoved", func(t *testing.T, _ *rig, path string) { must(t, os.Remove(filepath.Join(path, "index_meta.json"))) }, 30},
		{"MetaDamaged", func(t *testing.T, _ *rig, path string) { overwrite(t, filepath.Join(path, "index_meta.json"), 0, "x") }, 30},
		{"RootDamaged", func(t *testing.T, _ *rig, path string) { overwriteAll(t, filepath.Join(path, "store", "root.bolt")) }, 30},
		{"RootCutOff", func(t *testing.T, _ *rig, path string) {
			must(t, os.Truncate(filepath.Join(path, "store", "root.bolt"), 100))
		}, 30},
		{"SegmentDamaged", func(t *testing.T, _ *rig, path string) { overwrite(t, segment(t, path), 30, "xxxxxxxx") }, 30},
		{"SegmentCutOff", func(t *testing.T, _ *rig, path string) { must(t, os.Truncate(segment(t, path), 10)) }, 30},
		{"SegmentEmpty", func(t *testing.T, _ *rig, path string) { must(t, os.Truncate(segment(t, path), 0)) }, 30},
		{"SegmentRemoved", func(t *testing.T, _ *rig, path string) { must(t, os.Remove(segment(t, path))) }, 30},
		{"OtherFileStays", func(t *testing.T, _ *rig, path string) {
			must(t, os.Remove(filepath.Join(path, "index_meta.json")))
			must(t, os.WriteFile(filepath.Join(path, "notes"), []byte("mine"), 0o600))
		}, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "index")
			r := newRig(t, path)
			r.keepMany(30, r.keep)
			if got := r.total(login); got != 30 {
				t.Fatalf("%d are found at first", got)
			}
			r.close()
			for len(segments(t, path)) == 0 { // it writes a little later, and forgets what it has not written yet
				r.open()
				r.total(login)
				durable(t, path)
				r.close()
			}
			tt.during(t, r, path)
			r.open()
			if got := r.total(login); got != tt.want {
				t.Errorf("%d are found, want %d", got, tt.want)
			}
			if tt.name == "OtherFileStays" {
				if _, err := os.Stat(filepath.Join(path, "notes")); err != nil {
					t.Error(err)
				}
			}
			r.keepMany(1, r.keep)
			if got := r.total(login); got != tt.want+1 {
				t.Errorf("%d are found after one more, want %d", got, tt.want+1)
			}
		})
	}
}

// durable waits until the index wrote a segment.
func durable(t *testing.T, path string) {
	t.Helper()
	coretest.WaitFor(t, "a segment", func() bool { return len(segments(t, path)) > 0 })
}

func segments(t *testing.T, path string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(path, "store", "*.zap"))
	must(t, err)
	return list
}

// segment is one that the index has.
func segment(t *testing.T, path string) string {
	t.Helper()
	list := segments(t, path)
	return list[len(list)-1]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, name string, at int64, with string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte(with), at)
	must(t, err)
}

func overwriteAll(t *testing.T, name string) {
	t.Helper()
	info, err := os.Stat(name)
	must(t, err)
	overwrite(t, name, 0, strings.Repeat("x", int(info.Size())))
}

// While the store cannot be read there is no index; it is tried again, and lists without a query work all the time.
func TestIndexIsTriedAgain(t *testing.T) {
	r := newRig(t, "")
	r.keepMany(3, r.keepUntold)
	r.close()
	r.store.failWalk.Store(true)
	r.open()
	var err error
	coretest.WaitFor(t, "a failure", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err = r.FindExperiences(ctx, login)
		return core.ErrorCode(err) == core.CodeInternal && core.AsError(err).Unavailable
	})
	if got := r.found(core.ExperienceFilter{}); len(strings.Split(got, ", ")) != 3 {
		t.Errorf("listed %q", got)
	}
	m, err := r.Recall(t.Context(), core.MemoryQuery{Repo: "a", Objective: "login"})
	if err != nil || len(m.Experiences) != 3 {
		t.Errorf("recalled %d, %v", len(m.Experiences), err)
	}
	r.store.failWalk.Store(false)
	coretest.WaitFor(t, "the retry", func() bool { return r.clock.Pending() > 0 })
	r.clock.Advance(time.Minute)
	coretest.WaitFor(t, "the index", func() bool {
		list, _, err := r.FindExperiences(t.Context(), login)
		return err == nil && len(list) == 3
	})
}

// An index that fails while it is used is built anew, and nothing is lost.
func TestIndexFails(t *testing.T) {
	for _, where := range []string{"memory", "files"} {
		for _, tt := range []struct {
			name string
			use  func(r *rig)
		}{
			{"Search", func(r *rig) { _, _, _ = r.FindExperiences(t.Context(), login) }},
			{"Put", func(r *rig) { r.keepMany(1, r.keep) }},
		} {
			t.Run(where+"/"+tt.name, func(t *testing.T) {
				path := ""
				if where == "files" {
					path = filepath.Join(t.TempDir(), "index")
				}
				r := newRig(t, path)
				r.keepMany(5, r.keep)
				if got := r.total(login); got != 5 {
					t.Fatalf("%d are found at first", got)
				}
				must(t, r.BreakIndex())
				tt.use(r)
				r.keepMany(1, r.keep)
				want := r.count()
				coretest.WaitFor(t, "the new index", func() bool {
					list, _, err := r.FindExperiences(t.Context(), login)
					return err == nil && len(list) == want
				})
			})
		}
	}
}

func TestClosed(t *testing.T) {
	r := newRig(t, "")
	r.keep(core.Experience{Experience: wire.Experience{Objective: "login"}})
	r.close()
	if err := r.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, _, err := r.FindExperiences(t.Context(), login); core.ErrorCode(err) != core.CodeInternal || !core.AsError(err).Unavailable {
		t.Errorf("a query: %v", err)
	}
	r.Kept(&core.Experience{Experience: wire.Experience{ID: "exp_x"}})
	if got := r.found(core.ExperienceFilter{}); got != "login" {
		t.Errorf("listed %q", got)
	}
	if err := memory.New(r.opts).Close(); err != nil {
		t.Errorf("closed before it was opened: %v", err)
	}
}

// Experiences that are told while others search are found by whoever asks afterwards.
func TestKeptBesideSearches(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "index"))
	const writers, each = 4, 25
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			for i := range each {
				e := core.Experience{Experience: wire.Experience{Objective: fmt.Sprintf("login by writer%d number%d", w, i), Outcome: "successful"}}
				err := r.store.Update(t.Context(), func(tx core.Tx) error { return r.KeepExperience(tx, &e) })
				if err != nil {
					errs <- err
					return
				}
				r.Kept(&e)
				list, _, err := r.FindExperiences(t.Context(), core.ExperienceFilter{Query: fmt.Sprintf("writer%d number%d", w, i)})
				if err != nil || len(list) == 0 || list[0].ID != e.ID {
					errs <- fmt.Errorf("writer %d does not find what it wrote: %q, %w", w, objectives(list), err)
					return
				}
			}
			errs <- nil
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if _, info, err := r.FindExperiences(t.Context(), login); err != nil || info.Total != writers*each {
		t.Errorf("%d are found, %v", info.Total, err)
	}
}

// More at once than wait in memory is taken from the store.
func TestKeptFlood(t *testing.T) {
	r := newRig(t, "")
	var list []core.Experience
	for i := range 6000 {
		list = append(list, core.Experience{Experience: wire.Experience{Objective: fmt.Sprintf("login%d", i)}})
	}
	r.keep(list...)
	if _, info, err := r.FindExperiences(t.Context(), core.ExperienceFilter{Query: "login17 login5999"}); err != nil || info.Total != 2 {
		t.Errorf("%d are found, %v", info.Total, err)
	}
}

// TestIndexOfAFirstStart: an index that is made for the first time is no news; one that cannot be read is, in one line.
func TestIndexOfAFirstStart(t *testing.T) {
	path, log := filepath.Join(t.TempDir(), "index"), &strings.Builder{}
	logged := func(o *memory.Options) {
		o.Logger = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Info, Mutex: &sync.Mutex{}})
	}
	r := newRig(t, path, logged)
	r.keepMany(1, r.keep)
	r.total(login)
	r.close()
	if log.Len() > 0 {
		t.Errorf("the first start says %s", log)
	}
	if err := os.WriteFile(filepath.Join(path, "index_meta.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = newRig(t, path, logged)
	r.total(login)
	r.close()
	if text := log.String(); strings.Count(text, "is built anew") != 1 || strings.Count(text, "\n") != 1 {
		t.Errorf("an index that is broken says %s", text)
	}
}
