package plugintest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
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

// Blocked answers as a firewall does before a service, if there is a status to answer with, and reports whether it did.
func Blocked(w http.ResponseWriter, status int) bool {
	if status == 0 {
		return false
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<html><h1>Blocked</h1></html>")
	return true
}

// BehindFirewall checks that records which a firewall before a service refuses for what they hold, one and several in a row, are passed
// over, and that all are kept where it refuses everything, and none is passed over where it refuses every other request. Block has the service answer by a status for each body. Records makes n whose
// text is x repeated, behind a sequence.
func BehindFirewall(t *testing.T, s audit.Sink, block func(func(body []byte) int), records func(behind uint64, n int) []audit.Record) {
	t.Helper()
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	at := uint64(0)
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotAcceptable} {
		block(func(body []byte) int {
			if bytes.Contains(body, []byte("union select")) {
				return status
			}
			return 0
		})
		list := records(at, 41)
		var want []uint64
		for _, i := range []int{0, 11, 12, 39} {
			list[i].JSON = bytes.Replace(list[i].JSON, []byte("xxx"), []byte("union select"), 1)
			want = append(want, list[i].Sequence)
		}
		if got := Deliver(t, s, list); !slices.Equal(got, want) {
			t.Errorf("%d: rejected are %d, want %d", status, got, want)
		}
		at += 41
		turn := 0
		block(func([]byte) int {
			if turn++; turn%2 == 0 {
				return 0
			}
			return status
		})
		for list := records(at, 5); len(list) > 0; {
			last, err := s.Write(t.Context(), list)
			if err != nil && audit.AsError(err).Code == audit.CodeRejected || turn > 1000 {
				t.Fatalf("%d to every other request: %d, %v", status, last, err)
			}
			if last >= list[0].Sequence {
				list = list[last-list[0].Sequence+1:]
			}
		}
		at += 5
		block(func([]byte) int { return status })
		for _, n := range []int{1, 41} {
			if last, err := s.Write(t.Context(), records(at, n)); last > at || err == nil || audit.AsError(err).Code == audit.CodeRejected || !audit.AsError(err).Retry {
				t.Errorf("%d to everything: %d, %v", status, last, err)
			}
		}
	}
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
