package memory_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// writer makes texts whose words are as common and as rare as in real ones.
type writer struct {
	random *rand.Rand
	words  *rand.Zipf
}

func newWriter() *writer {
	random := rand.New(rand.NewPCG(1, 2))
	return &writer{random: random, words: rand.NewZipf(random, 1.15, 4, 30_000)}
}

func (w *writer) text(n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "word%d ", w.words.Uint64())
	}
	return b.String()
}

func (w *writer) experience(i int) core.Experience {
	details, err := json.Marshal(map[string]any{"artifacts": []any{map[string]any{"type": "file", "value": w.text(20)}}})
	if err != nil {
		panic(err)
	}
	return core.Experience{
		Experience: wire.Experience{
			ExecutionID: fmt.Sprintf("exec_%d", i/5), Role: fmt.Sprintf("role%d", i%7), Repo: fmt.Sprintf("git/repo%d", i%40),
			Objective: w.text(8 + w.random.IntN(20)), Summary: w.text(20 + w.random.IntN(50)),
			Outcome: core.ExperienceOutcomes[i%3], Details: details,
		},
	}
}

const many = 100_000

// BenchmarkRelevance measures queries and recalls over 100,000 experiences, and tells what the index costs. With -short it has few
// of them, which shows that it runs.
func BenchmarkRelevance(b *testing.B) {
	path := filepath.Join(b.TempDir(), "index")
	r := newRig(b, path)
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	w := newWriter()
	kept := many
	if testing.Short() {
		kept = 1000
	}
	for i := range kept {
		r.keepUntold(w.experience(i))
		r.clock.Advance(time.Minute)
	}
	before := heap()
	began := time.Now()
	r.open()
	r.found(core.ExperienceFilter{Query: "word1"})
	built := time.Since(began)
	after := heap()
	reopen := func() time.Duration {
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		r.open()
		r.found(core.ExperienceFilter{Query: "word1"})
		return time.Since(began)
	}()
	b.Logf("built in %v, opened again in %v, %d MiB on disk, %d MiB of heap", built, reopen, onDisk(b, path)>>20, (int64(after)-int64(before))>>20)

	for _, bench := range []struct {
		name string
		run  func() error
	}{
		{"Query", func() error {
			_, _, err := r.FindExperiences(b.Context(), core.ExperienceFilter{Query: w.text(3 + w.random.IntN(8))})
			return err
		}},
		{"QueryOfRepo", func() error {
			_, _, err := r.FindExperiences(b.Context(), core.ExperienceFilter{Query: w.text(6), Repo: "git/repo3"})
			return err
		}},
		{"CommonWord", func() error {
			_, _, err := r.FindExperiences(b.Context(), core.ExperienceFilter{Query: "word0"})
			return err
		}},
		{"Recall", func() error {
			_, err := r.Recall(b.Context(), core.MemoryQuery{ExecutionID: "exec_1", Role: "role1", Repo: "git/repo3", Objective: w.text(200)})
			return err
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				if err := bench.run(); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(times[len(times)-1].Microseconds())/1000, "max-ms")
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func onDisk(tb testing.TB, path string) int64 {
	var size int64
	err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		if os.IsNotExist(err) {
			return nil // merged away meanwhile
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return size
}
