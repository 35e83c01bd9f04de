package splunk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/plugins/audit-splunk/hec"
	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/plugintest"
)

func start(t *testing.T, r *hec.Receiver, more map[string]any) *sink {
	t.Helper()
	host, port, _ := net.SplitHostPort(r.Addr())
	n, _ := strconv.Atoi(port)
	settings := map[string]any{"host": host, "port": n, "token": hec.Token, "tls": false, "index": "audit"}
	for name, value := range more {
		settings[name] = value
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(raw)
	if err != nil {
		t.Fatal(err)
	}
	s.look, s.wait = time.Millisecond, 200*time.Millisecond
	t.Cleanup(s.client.Close)
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return s
}

func records(from, n, size int) []audit.Record {
	var list []audit.Record
	for i := from; i < from+n; i++ {
		list = append(list, audit.Record{Sequence: uint64(i), Time: time.Unix(1_800_000_000, 0), JSON: fmt.Appendf(nil, `{"sequence":%d,"text":"%s"}`, i, bytes.Repeat([]byte("x"), size))})
	}
	return list
}

func TestWrite(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	// More than one request takes.
	if last, err := s.Write(t.Context(), records(1, 300, 10<<10)); err != nil || last != 300 {
		t.Fatalf("%d, %v", last, err)
	}
	if events := r.Events(); len(events) != 300 || string(events[299]) != string(records(300, 1, 10<<10)[0].JSON) {
		t.Errorf("%d events", len(events))
	}
}

// Records are kept to the byte, also those with characters that HTML has a meaning for.
func TestBytes(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	record := audit.Record{Sequence: 1, Time: time.Unix(1_800_000_000, 0), JSON: []byte(`{"sequence":1,"text":"<a href='x'>&</a>"}`)}
	if last, err := s.Write(t.Context(), []audit.Record{record}); last != 1 || err != nil {
		t.Fatal(last, err)
	}
	if events := r.Events(); len(events) != 1 || !bytes.Equal(events[0], record.JSON) {
		t.Errorf("%s", events)
	}
}

func TestFailures(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	for _, test := range []struct {
		name   string
		change func()
		code   audit.Code
	}{
		{"busy", func() { r.Busy = true }, audit.CodeUnavailable},
		{"no acknowledgement of the token", func() { r.Busy, r.NoAck = false, true }, audit.CodeForbidden},
		{"silent", func() { r.NoAck, r.Silent = false, true }, audit.CodeTimeout},
	} {
		r.Change(test.change)
		if last, err := s.Write(t.Context(), records(1, 3, 10)); last != 0 || audit.AsError(err).Code != test.code {
			t.Errorf("%s: %d, %v", test.name, last, err)
		}
	}
	r.Change(func() { r.Silent = false })
	if last, err := s.Write(t.Context(), records(1, 3, 10)); err != nil || last != 3 || len(r.Events()) != 3 {
		t.Errorf("%d, %v, %d events", last, err, len(r.Events()))
	}
	wrong := start(t, r, map[string]any{"token": "no"})
	if _, err := wrong.Write(t.Context(), records(4, 1, 10)); audit.AsError(err).Code != audit.CodeForbidden || !audit.AsError(err).Retry {
		t.Errorf("a wrong token: %v", err)
	}
	if _, err := s.Write(t.Context(), []audit.Record{{Sequence: 4}, {Sequence: 6}}); audit.AsError(err).Code != audit.CodeInvalidArgument {
		t.Errorf("a gap: %v", err)
	}
}

// Indexers that take long to acknowledge, longer than one Write waits, are asked again when the batch comes again: were it sent again,
// it would never be delivered, and be stored time after time.
func TestSlowAcknowledgement(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	s.wait = 20 * time.Millisecond
	r.Change(func() { r.Silent = true })
	list := records(1, 4, maxBody/2)
	for n := 2; n <= 4; n++ { // more come meanwhile
		if last, err := s.Write(t.Context(), list[:n]); last != 0 || audit.AsError(err).Code != audit.CodeTimeout {
			t.Fatalf("%d, %v", last, err)
		}
		if _, err := s.Open(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	r.Change(func() { r.Silent = false })
	if last, err := s.Write(t.Context(), list); last != 4 || err != nil || r.Taken != 4 {
		t.Errorf("%d, %v, by %d requests", last, err, r.Taken)
	}
	// Those of another trail, and those that no acknowledgement came of for long, are sent.
	r.Change(func() { r.Silent, r.Taken = true, 0 })
	if _, err := s.Write(t.Context(), records(5, 1, 10)); err == nil {
		t.Fatal("there was no acknowledgement")
	}
	other := records(5, 1, 20)
	if _, err := s.Write(t.Context(), other); err == nil || r.Taken != 2 {
		t.Errorf("another record of the same sequence: %v, by %d requests", err, r.Taken)
	}
	s.keep = 0
	r.Change(func() { r.Silent = false })
	if last, err := s.Write(t.Context(), other); last != 5 || err != nil || r.Taken != 3 {
		t.Errorf("%d, %v, by %d requests", last, err, r.Taken)
	}
}

// A collector that is restarted counts its acknowledgements anew: one of what is sent then is none of what was sent before, which it lost.
func TestCollectorRestarted(t *testing.T) {
	for name, cut := range map[string]int{"Answers": 0, "AnswerLost": 1} {
		t.Run(name, func(t *testing.T) { restarted(t, cut) })
	}
}

// restarted has the collector restart, after which the answers to so many requests are lost.
func restarted(t *testing.T, cut int) {
	r := hec.Start(t)
	s := start(t, r, nil)
	r.Change(func() { r.Silent = true })
	first := 2 - cut // each is a request; with the lost one the number of the next would rise
	if _, err := s.Write(t.Context(), records(1, first, maxBody/2)); audit.AsError(err).Code != audit.CodeTimeout {
		t.Fatal(err)
	}
	r.Restart()
	r.Change(func() { r.Silent, r.Cut = false, cut })
	last, err := uint64(0), error(nil)
	for range 3 + cut { // as the appliance does
		if last, err = s.Write(t.Context(), records(1, 4, maxBody/2)); err == nil {
			break
		}
		if e := audit.AsError(err); last != 0 || e.Code != audit.CodeUnavailable || !e.Retry {
			t.Errorf("after the restart: %d, %v", last, err)
		}
	}
	if last != 4 || err != nil || len(r.Events()) != 4 {
		t.Errorf("%d, %v, and the collector has %d of 4 records", last, err, len(r.Events()))
	}
}

// An answer of success that is no collector's, such as that of a proxy before none, keeps nothing.
func TestAnswerOfSomethingElse(t *testing.T) {
	for _, body := range []string{`{}`, `null`, `{"status": "ok"}`, `[]`, `ok`, ``} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		defer server.Close()
		host, port, _ := net.SplitHostPort(server.Listener.Addr().String())
		s, err := open(fmt.Appendf(nil, `{"host": %q, "port": %s, "token": "t", "tls": false, "acknowledge": false}`, host, port))
		if err != nil {
			t.Fatal(err)
		}
		defer s.client.Close()
		if last, err := s.Write(t.Context(), records(1, 2, 10)); last != 0 || audit.AsError(err).Code != audit.CodeUnavailable {
			t.Errorf("%q: %d, %v", body, last, err)
		}
	}
}

// One event that the collector never takes is named, and the others get there.
func TestRejected(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	r.Change(func() { r.Refuses = func(e []byte) bool { return bytes.Contains(e, []byte(`"sequence":5,`)) } })
	list := records(1, 10, 10)
	last, err := s.Write(t.Context(), list)
	if last != 4 || audit.AsError(err).Code != audit.CodeRejected {
		t.Fatalf("%d, %v", last, err)
	}
	if last, err = s.Write(t.Context(), list[5:]); last != 10 || err != nil || len(r.Events()) != 9 {
		t.Errorf("%d, %v, %d events", last, err, len(r.Events()))
	}
}

// A refused event with a request to itself, behind one whose acknowledgement is awaited, is named as well.
func TestRejectedBehindARequest(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	r.Change(func() { r.Refuses = func(e []byte) bool { return bytes.Contains(e, []byte(`"sequence":2,`)) } })
	if last, err := s.Write(t.Context(), records(1, 2, maxBody)); last != 1 || audit.AsError(err).Code != audit.CodeRejected {
		t.Errorf("%d, %v", last, err)
	}
}

// A collector, or the proxy before it, that takes smaller requests than are sent gets smaller ones; an event that alone is too
// large for it is passed over, the error names the remedy, and the others get there.
func TestTooLarge(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	r.Change(func() { r.Largest = 48 << 10 })
	if last, err := s.Write(t.Context(), records(1, 300, 10<<10)); err != nil || last != 300 || len(r.Events()) != 300 {
		t.Fatalf("%d, %v, %d events", last, err, len(r.Events()))
	}
	last, err := s.Write(t.Context(), records(301, 1, 50<<10))
	if e := audit.AsError(err); last != 300 || e == nil || e.Code != audit.CodeRejected || e.Retry || e.Hint == "" {
		t.Errorf("%d, %+v", last, e)
	}
	list := slices.Concat(records(302, 20, 10), records(322, 1, 50<<10), records(323, 20, 10))
	if rejected := plugintest.Deliver(t, s, list); !slices.Equal(rejected, []uint64{322}) || len(r.Events()) != 340 {
		t.Errorf("rejected are %d, %d events", rejected, len(r.Events()))
	}
}

// A small record that is refused as too large, as all others are, is kept: that is a setting. Once it is mended records go many at a time
// again.
func TestAllTooLarge(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	plugintest.AllTooLarge(t, s, plugintest.Narrow{
		Limit: func(bytes int) { r.Change(func() { r.Largest = bytes }) },
		Requests: func() (n int) {
			r.Change(func() { n = r.Taken })
			return n
		},
	}, func(n int) []audit.Record { return records(1, n, 10) })
}

// An event that is refused without its number, by the collector or by what stands before it, is found among others.
func TestRefusedWithoutNumber(t *testing.T) {
	for name, body := range map[string]string{"Collector": `{"text":"Invalid data format","code":6}`, "Proxy": "<html>Bad Request</html>"} {
		for _, bad := range []int{1, 5, 40, 41} {
			t.Run(fmt.Sprint(name, bad), func(t *testing.T) {
				r := hec.Start(t)
				s := start(t, r, nil)
				r.Change(func() {
					r.Refuses, r.Whole = func(e []byte) bool { return bytes.Contains(e, fmt.Appendf(nil, `"sequence":%d,`, bad)) }, body
				})
				if rejected := plugintest.Deliver(t, s, records(1, 41, 10)); !slices.Equal(rejected, []uint64{uint64(bad)}) || len(r.Events()) != 40 {
					t.Errorf("rejected are %d, %d events", rejected, len(r.Events()))
				}
			})
		}
	}
	// What is refused whatever it is, is kept.
	r := hec.Start(t)
	s := start(t, r, nil)
	r.Change(func() { r.Refuses, r.Whole = func([]byte) bool { return true }, "<html>Bad Request</html>" })
	if last, err := s.Write(t.Context(), records(1, 3, 10)); last != 0 || audit.AsError(err).Code != audit.CodeInvalidArgument || !audit.AsError(err).Retry {
		t.Errorf("%d, %v", last, err)
	}
}

// Several events in a row that are refused, each with the whole request it is in, do not hold back those behind them.
func TestRefusedInARow(t *testing.T) {
	for _, n := range []int{2, 30} {
		r := hec.Start(t)
		s := start(t, r, nil)
		r.Change(func() {
			r.Refuses, r.Whole = func(e []byte) bool { return bytes.Contains(e, []byte("xxx")) }, "<html>Bad Request</html>"
		})
		rejected := plugintest.Deliver(t, s, slices.Concat(records(1, n, 10), records(n+1, 41, 1)))
		if len(rejected) != n || rejected[n-1] != uint64(n) || len(r.Events()) != 41 {
			t.Errorf("%d in a row: rejected are %d, %d events", n, rejected, len(r.Events()))
		}
	}
}

func TestBehindFirewall(t *testing.T) {
	r := hec.Start(t)
	block := func(fn func(body []byte) int) { r.Change(func() { r.Blocks = fn }) }
	plugintest.BehindFirewall(t, start(t, r, nil), block, func(behind uint64, n int) []audit.Record { return records(int(behind)+1, n, 10) })
	if n := len(r.Events()); n != 3*(37+5) {
		t.Errorf("%d events", n)
	}
}

// A proxy that breaks amid a batch costs no record: what came before says nothing of those behind.
func TestBrokenAmidABatch(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	taken := 0
	r.Change(func() {
		r.Refuses, r.Whole = func([]byte) bool { taken++; return taken > 100 }, "<html>Bad Request</html>"
	})
	if last, err := s.Write(t.Context(), records(1, 300, 10<<10)); last != 0 || audit.AsError(err).Code != audit.CodeInvalidArgument {
		t.Errorf("%d, %v", last, err)
	}
}

// A reason of any length becomes one that fits into an error.
func TestLongReason(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	r.Change(func() {
		r.Refuses, r.Whole = func([]byte) bool { return true }, `{"code":6,"text":"`+strings.Repeat("é", 100<<10)+`"}`
	})
	_, err := s.Write(t.Context(), records(1, 1, 10))
	if e := audit.AsError(err); e.Code != audit.CodeRejected || len(e.Message) > 1000 || !utf8.ValidString(e.Message) {
		t.Errorf("%s, %d bytes", e.Code, len(e.Message))
	}
}

// What is wrong with the settings of the collector is not taken for a fault of a record.
func TestRefusedForSettings(t *testing.T) {
	r := hec.Start(t)
	s := start(t, r, nil)
	for code, rejected := range map[int]bool{5: false, 6: true, 7: false, 10: false, 11: false, 12: true, 13: true, 14: false, 15: true} {
		r.Change(func() { r.Code = code })
		for _, n := range []int{1, 3} {
			last, err := s.Write(t.Context(), records(1, n, 10))
			e := audit.AsError(err)
			if last != 0 || e == nil || (e.Code == audit.CodeRejected) != rejected || e.Retry == rejected || (e.Hint == "") != rejected {
				t.Errorf("code %d, %d records: %d, %+v", code, n, last, e)
			}
		}
	}
	r.Change(func() { r.Code = 0 })
	if last, err := s.Write(t.Context(), records(1, 3, 10)); last != 3 || err != nil {
		t.Errorf("afterwards: %d, %v", last, err)
	}
}
