package location

import "time"

// journal is how far the events of a subject were read.
type journal struct {
	subject string
	after   uint64    // sequence of the last event that was read
	last    time.Time // when it happened; zero before the first one
	over    bool      // nothing is left
}
