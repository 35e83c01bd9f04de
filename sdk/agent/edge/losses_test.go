package edge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Whatever is lost when, the server sees each turn of a thread once and in order, and no message is given twice.
func TestLossesInAnyOrder(t *testing.T) {
	const messages = 12
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			s := newSite(t)
			s.spawn("thread_1", nil)
			s.want("1 started", "2 ready")
			last := uint64(2)
			var seen, want, taken, given []string
			for i := range messages {
				id, text := fmt.Sprint("in_", i), fmt.Sprint("m", i)
				want = append(want, "busy", "tool_running", "turn_complete "+text, "ready")
				given = append(given, id)
				s.message("thread_1", id, text)
				for len(seen) < len(want) || len(taken) < len(given) {
					if s.lose(random.IntN(8)) && len(taken) < len(given) { // as the server does after a resume
						s.message("thread_1", id, text)
					}
					e := s.peek()
					switch {
					case e.Sequence > last+1:
						t.Fatalf("event %d follows %d", e.Sequence, last)
					case e.Sequence <= last: // comes again
						continue
					}
					last = e.Sequence
					if e.InputTaken != "" {
						taken = append(taken, e.InputTaken)
					}
					// A process that ended between the turn and the word that its message was taken tells that later.
					if e.Type != protocol.ThreadReady || e.InputTaken == "" {
						seen = append(seen, strings.TrimSpace(e.Type+" "+e.Data.Text))
					}
					if random.IntN(3) == 0 {
						s.send(protocol.TypeThreadAck, protocol.ThreadAck{ThreadID: "thread_1", Sequence: last})
					}
				}
			}
			if !slices.Equal(seen, want) {
				t.Fatalf("seen\n %q\nwant\n %q", seen, want)
			}
			if !slices.Equal(taken, given) {
				t.Fatalf("taken %q, want %q", taken, given)
			}
			for id, n := range s.rt.deliveries() {
				if n != 1 {
					t.Errorf("%s was delivered %d times", id, n)
				}
			}
		})
	}
}

// lose loses something, and returns whether there is a new session. Where nothing was lost, the events that were not
// acknowledged do not come again.
func (s *site) lose(what int) bool {
	s.t.Helper()
	switch what {
	case 0:
		s.server.DropAll()
		s.accept()
	case 1:
		s.stop()
		s.start()
	case 2:
		s.rt.setDown(true)
		s.rt.setDown(false)
		return false
	default:
		return false
	}
	return true
}
