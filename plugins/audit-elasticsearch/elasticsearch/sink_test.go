package elasticsearch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/plugins/audit-elasticsearch/search"
	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/plugintest"
)

func start(t *testing.T, hosts []string, password string) *sink {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"hosts": hosts, "username": search.User, "password": password})
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	return s
}

func records(from, n, size int) []audit.Record {
	var list []audit.Record
	for i := from; i < from+n; i++ {
		list = append(list, audit.Record{Sequence: uint64(i), Time: time.Unix(1_800_000_000, 0), JSON: fmt.Appendf(nil, `{"sequence":%d,"eventId":"aud_%d","text":"<%s>"}`, i, i, bytes.Repeat([]byte("x"), size))})
	}
	return list
}

func TestWrite(t *testing.T) {
	r := search.Start(t)
	s := start(t, []string{r.URL()}, search.Password)
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	list := records(1, 600, 10<<10)
	if last, err := s.Write(t.Context(), list); err != nil || last != 600 {
		t.Fatalf("%d, %v", last, err)
	}
	if last, err := s.Write(t.Context(), list[590:]); err != nil || last != 600 { // doubles are recognised
		t.Fatalf("%d, %v", last, err)
	}
	if kept := r.Records(); len(kept) != 600 || !bytes.Equal(kept[599], list[599].JSON) {
		t.Errorf("%d documents", len(kept))
	}
}

func TestFailures(t *testing.T) {
	r := search.Start(t)
	s := start(t, []string{r.URL()}, search.Password)
	if _, err := s.Write(t.Context(), records(1, 1, 1)); err == nil {
		t.Error("without the template of a data stream nothing should be taken")
	}
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.Change(func() { r.Down = true })
	if last, err := s.Write(t.Context(), records(1, 3, 1)); last != 0 || audit.AsError(err).Code != audit.CodeUnavailable {
		t.Errorf("down: %d, %v", last, err)
	}
	r.Change(func() { r.Down, r.Full = false, 2 })
	if last, err := s.Write(t.Context(), records(1, 5, 1)); last != 2 || audit.AsError(err).Code != audit.CodeUnavailable {
		t.Errorf("full: %d, %v", last, err)
	}
	r.Change(func() { r.Full = 0 })
	if last, err := s.Write(t.Context(), records(3, 3, 1)); last != 5 || err != nil || len(r.Records()) != 5 {
		t.Errorf("afterwards: %d, %v", last, err)
	}
	wrong := start(t, []string{r.URL()}, "wrong")
	if _, err := wrong.Open(t.Context(), 1); audit.AsError(err).Code != audit.CodeForbidden || !audit.AsError(err).Retry {
		t.Errorf("a wrong password: %v", err)
	}
}

// A server, or the proxy before it, that takes smaller requests than are sent gets smaller ones; a record that alone is too
// large for it is passed over, the error names the remedy, and the others get there.
func TestTooLarge(t *testing.T) {
	r := search.Start(t)
	s := start(t, []string{r.URL()}, search.Password)
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.Change(func() { r.Largest = 48 << 10 })
	if last, err := s.Write(t.Context(), records(1, 600, 10<<10)); err != nil || last != 600 || len(r.Records()) != 600 {
		t.Fatalf("%d, %v, %d documents", last, err, len(r.Records()))
	}
	if last, err := s.Write(t.Context(), records(601, 1, 40<<10)); err != nil || last != 601 { // as text alone it fits
		t.Errorf("%d, %v", last, err)
	}
	last, err := s.Write(t.Context(), records(602, 1, 50<<10))
	if e := audit.AsError(err); last != 601 || e == nil || e.Code != audit.CodeRejected || e.Retry || e.Hint == "" {
		t.Errorf("%d, %+v", last, e)
	}
	list := slices.Concat(records(603, 20, 10), records(623, 1, 50<<10), records(624, 20, 10))
	if rejected := plugintest.Deliver(t, s, list); !slices.Equal(rejected, []uint64{623}) || len(r.Records()) != 641 {
		t.Errorf("rejected are %d, %d documents", rejected, len(r.Records()))
	}
}

// A small record that is refused as too large, as all others are, is kept: that is a setting. Once it is mended records go many at a time
// again.
func TestAllTooLarge(t *testing.T) {
	r := search.Start(t)
	s := start(t, []string{r.URL()}, search.Password)
	plugintest.AllTooLarge(t, s, plugintest.Narrow{
		Limit: func(bytes int) { r.Change(func() { r.Largest = bytes }) },
		Requests: func() (n int) {
			r.Change(func() { n = r.Requests })
			return n
		},
	}, func(n int) []audit.Record { return records(1, n, 10) })
}

// A document that is refused for a reason that may also be that of the data stream, or with the whole request it is in, is found
// among others.
func TestRefusedAmongOthers(t *testing.T) {
	for name, change := range map[string]func(r *search.Server){
		"Document": func(r *search.Server) { r.RefusesAs = "illegal_argument_exception" },
		"Request":  func(r *search.Server) { r.Whole = true },
	} {
		for _, bad := range []int{1, 5, 40, 41} {
			t.Run(fmt.Sprint(name, bad), func(t *testing.T) {
				r := search.Start(t)
				s := start(t, []string{r.URL()}, search.Password)
				if _, err := s.Open(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				r.Change(func() {
					change(r)
					r.Refuses = func(doc []byte) bool { return bytes.Contains(doc, fmt.Appendf(nil, `aud_%d\"`, bad)) }
				})
				if rejected := plugintest.Deliver(t, s, records(1, 41, 10)); !slices.Equal(rejected, []uint64{uint64(bad)}) || len(r.Records()) != 40 {
					t.Errorf("rejected are %d, %d documents", rejected, len(r.Records()))
				}
				// Where all are refused, they are kept.
				r.Change(func() { r.Refuses = func([]byte) bool { return true } })
				last, err := s.Write(t.Context(), records(42, 3, 10))
				if e := audit.AsError(err); last > 41 || e == nil || e.Code != audit.CodeInvalidArgument || !e.Retry {
					t.Errorf("%d, %+v", last, e)
				}
			})
		}
	}
}

// Several documents in a row that are refused, each with the whole request it is in, do not hold back those behind them.
func TestRefusedInARow(t *testing.T) {
	for _, n := range []int{2, 30} {
		r := search.Start(t)
		s := start(t, []string{r.URL()}, search.Password)
		if _, err := s.Open(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		r.Change(func() { r.Whole, r.Refuses = true, func(doc []byte) bool { return bytes.Contains(doc, []byte(`xxx`)) } })
		list := slices.Concat(records(1, n, 10), records(n+1, 41, 1))
		if rejected := plugintest.Deliver(t, s, list); len(rejected) != n || rejected[n-1] != uint64(n) || len(r.Records()) != 41 {
			t.Errorf("%d in a row: rejected are %d, %d documents", n, rejected, len(r.Records()))
		}
	}
}

func TestBehindFirewall(t *testing.T) {
	r := search.Start(t)
	block := func(fn func(body []byte) int) { r.Change(func() { r.Blocks = fn }) }
	plugintest.BehindFirewall(t, start(t, []string{r.URL()}, search.Password), block, func(behind uint64, n int) []audit.Record {
		return records(int(behind)+1, n, 10)
	})
	if n := len(r.Records()); n != 3*(37+5) {
		t.Errorf("%d documents", n)
	}
}

// A data stream that is closed amid a batch costs no record: what came before says nothing of those behind.
func TestClosedAmidABatch(t *testing.T) {
	r := search.Start(t)
	s := start(t, []string{r.URL()}, search.Password)
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	taken := 0
	r.Change(func() {
		r.RefusesAs = "index_closed_exception"
		r.Refuses = func([]byte) bool { taken++; return taken > 3 }
	})
	if last, err := s.Write(t.Context(), records(1, 6, 10)); last != 3 || audit.AsError(err).Code != audit.CodeInvalidArgument {
		t.Errorf("%d, %v", last, err)
	}
}

// A record that does not fit as an object is kept as text, and one that does not fit at all is named.
func TestRejected(t *testing.T) {
	r := search.Start(t)
	s := start(t, []string{r.URL()}, search.Password)
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.Change(func() {
		r.Refuses = func(doc []byte) bool {
			return bytes.Contains(doc, []byte(`"wardroom":{"sequence":2,`)) || bytes.Contains(doc, []byte(`\"sequence\":4,`))
		}
	})
	list := records(1, 6, 1)
	last, err := s.Write(t.Context(), list)
	if last != 3 || audit.AsError(err).Code != audit.CodeRejected {
		t.Fatalf("%d, %v", last, err)
	}
	if last, err = s.Write(t.Context(), list[4:]); last != 6 || err != nil || len(r.Records()) != 5 {
		t.Errorf("%d, %v, %d documents", last, err, len(r.Records()))
	}
}

// What is wrong with the data stream or the cluster is not taken for a fault of a record.
func TestRefusedForTheCluster(t *testing.T) {
	r := search.Start(t)
	s := start(t, []string{r.URL()}, search.Password)
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		kind, cause string
		rejected    bool
	}{
		{"mapper_parsing_exception", "illegal_argument_exception", true},
		{"document_parsing_exception", "", true},
		{"strict_dynamic_mapping_exception", "", true},
		{"x_content_parse_exception", "", true},
		{"illegal_argument_exception", "max_bytes_length_exceeded_exception", true},
		{"illegal_argument_exception", "", false},
		{"validation_exception", "", false},
		{"index_closed_exception", "", false},
	} {
		r.Change(func() { r.Kind, r.Cause = test.kind, test.cause })
		last, err := s.Write(t.Context(), records(1, 3, 1))
		e := audit.AsError(err)
		if last != 0 || e == nil || (e.Code == audit.CodeRejected) != test.rejected || e.Retry == test.rejected || (e.Hint == "") != test.rejected {
			t.Errorf("%s for %q: %d, %+v", test.kind, test.cause, last, e)
		}
	}
	r.Change(func() { r.Kind, r.Cause = "", "" })
	if last, err := s.Write(t.Context(), records(1, 3, 1)); last != 3 || err != nil {
		t.Errorf("afterwards: %d, %v", last, err)
	}
}

// Where one host does not answer, the next one gets the records.
func TestHosts(t *testing.T) {
	r := search.Start(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	s := start(t, []string{gone.URL, r.URL() + "/"}, search.Password)
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if last, err := s.Write(t.Context(), records(1, 3, 1)); err != nil || last != 3 {
		t.Errorf("%d, %v", last, err)
	}
}
