package store

import (
	"errors"
	"math"
	"testing"
	"time"
)

// A measurement is taken again for each batch unless there is more room than anybody fills until the next one.
func TestAmpleSpace(t *testing.T) {
	const min, total = 64 << 20, 100 << 30
	for _, tt := range []struct {
		name  string
		free  uint64
		files uint64
		taken int64
		age   time.Duration
		fail  error
		want  bool
	}{
		{"Ample", 10 << 30, math.MaxUint64, 0, 0, nil, true},
		{"AlmostFull", 1 << 30, math.MaxUint64, 0, 0, nil, false},
		{"Full", 1 << 20, math.MaxUint64, 0, 0, nil, false},
		{"FewFiles", 10 << 30, 50 * minFiles, 0, 0, nil, false},
		{"TakenMeanwhile", 2 << 30, math.MaxUint64, 1 << 30, 0, nil, false},
		{"Old", 10 << 30, math.MaxUint64, 0, ampleFor, nil, false},
		{"Failed", 10 << 30, math.MaxUint64, 0, 0, errors.New("broken"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSpace(min, total)
			s.observe(tt.free, tt.files)
			if tt.taken > 0 {
				if err := s.take(tt.taken, false); err != nil {
					t.Fatal(err)
				}
			}
			s.fail(tt.fail)
			s.at = time.Now().Add(time.Hour) // however slow the machine is
			if tt.age > 0 {
				s.at = time.Now().Add(-tt.age)
			}
			if got := s.isAmple(); got != tt.want {
				t.Errorf("ample: %v", got)
			}
		})
	}
}
