package plugintest

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/audit"
)

// Deliver writes records into a sink as the appliance does: behind one that is refused for good it goes on with the next. It returns
// the sequences of those, and fails the test at any other error.
func Deliver(t *testing.T, s audit.Sink, list []audit.Record) (rejected []uint64) {
	t.Helper()
	for len(list) > 0 {
		last, err := s.Write(t.Context(), list)
		if last >= list[0].Sequence {
			list = list[last-list[0].Sequence+1:]
		}
		switch {
		case err == nil:
		case audit.AsError(err).Code != audit.CodeRejected:
			t.Fatalf("behind %d: %v", last, err)
		default:
			rejected = append(rejected, list[0].Sequence)
			list = list[1:]
		}
	}
	return rejected
}

// Narrow is a service that tests of sinks make refuse each request above a size.
type Narrow struct {
	Limit    func(bytes int) // refuses what is larger; 0: nothing
	Requests func() int      // that came so far
}

// AllTooLarge checks that records of a few bytes which a service refuses as too large, as it does all others, are kept and sent again:
// that is a setting. Once it is mended they go many at a time again. Records makes the first n.
func AllTooLarge(t *testing.T, s audit.Sink, service Narrow, records func(n int) []audit.Record) {
	t.Helper()
	open := func() {
		t.Helper()
		if _, err := s.Open(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	open()
	service.Limit(100)
	for _, n := range []int{1, 3} {
		last, err := s.Write(t.Context(), records(n))
		if e := audit.AsError(err); last != 0 || e == nil || e.Code != audit.CodeInvalidArgument || !e.Retry || e.Hint == "" {
			t.Errorf("%d records: %d, %+v", n, last, e)
		}
	}
	open()
	service.Limit(0)
	before := service.Requests()
	last, err := s.Write(t.Context(), records(200))
	if n := service.Requests() - before; last != 200 || err != nil || n != 1 {
		t.Errorf("%d, %v, in %d requests", last, err, n)
	}
}
