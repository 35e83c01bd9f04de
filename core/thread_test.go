package core

import (
	"testing"
	"time"
)

func TestThreadLasted(t *testing.T) {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, want := range map[string]time.Duration{"Ended": time.Hour, "SetBack": 0, "Runs": 0} {
		r := Thread{CreatedAt: created}
		switch name {
		case "Ended":
			r.EndedAt = new(created.Add(time.Hour))
		case "SetBack":
			r.EndedAt = new(created.Add(-time.Hour))
		}
		if got := r.Lasted(); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
