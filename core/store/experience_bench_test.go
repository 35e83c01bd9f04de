package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// BenchmarkExperiences stores 100,000 experiences of a hundred repositories, five hundred in a transaction, then
// reads a page of twenty and walks over all.
func BenchmarkExperiences(b *testing.B) {
	s := mustOpen(b, store.Options{})
	const rows = 100_000
	began := time.Now()
	for from := 0; from < rows; from += 500 {
		mustUpdate(b, s, func(tx core.Tx) error {
			for i := from; i < from+500; i++ {
				id := ownID(core.PrefixMemory, start.Add(time.Duration(i)*time.Millisecond), 1)
				e := experience(id, fmt.Sprintf("%064d", i), core.ExperienceOutcomes[i%3])
				e.ExecutionID, e.Repo, e.Role = idAt(start, i/10), fmt.Sprint("acme/repository", i%100), fmt.Sprint("role", i%7)
				if err := tx.PutExperience(e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	b.Logf("stored at %.0f/s", rows/time.Since(began).Seconds())
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			list, info, err := s.FindExperiences(ctx, core.ExperienceFilter{Repo: "acme/repository7", Outcome: core.ExperienceFailed})
			if err != nil || len(list) != 20 || info.Total < 300 {
				b.Fatal(len(list), info, err)
			}
		}
	})
	b.Run("walk", func(b *testing.B) {
		for b.Loop() {
			n := 0
			err := s.WalkExperiences(ctx, "", func(*core.Experience) error { n++; return nil })
			if err != nil || n != rows {
				b.Fatal(n, err)
			}
		}
		b.ReportMetric(float64(s.Stats().LSMBytes)/rows, "disk-B/row")
	})
}
