package trail_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/audit/trail"
)

// redacted is a trail of which one record was redacted.
func redacted(t *testing.T) [][]byte {
	t.Helper()
	lines := chain(key(1), 25)
	r, err := trail.Parse(lines[6])
	if err != nil {
		t.Fatal(err)
	}
	r.Actor.ID, r.Actor.IP, r.Actor.UserAgent, r.Details = "erased-1", "", "", nil
	lines[6] = trail.Redact(nil, r, key(1), "ers_1", time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC))
	return lines
}

func TestRedactedRecordVerifies(t *testing.T) {
	lines := redacted(t)
	if bytes.Contains(lines[6], []byte("ann")) {
		t.Errorf("the name is still in %s", lines[6])
	}
	if r := verify(lines, public(key(1))); !r.OK || r.Redacted != 1 || r.Records != 25 || r.Signed != 19 {
		t.Errorf("%+v", r)
	}
	if r := verify(lines); !r.OK {
		t.Errorf("without keys: %+v", r)
	}
	var export bytes.Buffer
	w, err := trail.NewWriter(&export, trail.FormatCSV, "1")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	v := &trail.Verifier{Whole: true}
	if err := trail.VerifyFile(&export, v); err != nil || !v.Report().OK || v.Report().Redacted != 1 {
		t.Errorf("as csv: %v, %+v", err, v.Report())
	}
}

func TestRedactionIsNoWayToChangeRecords(t *testing.T) {
	for name, change := range map[string]func(lines [][]byte){
		"the actor":     func(l [][]byte) { l[6] = bytes.Replace(l[6], []byte("erased-1"), []byte("erased-2"), 1) },
		"the time":      func(l [][]byte) { l[6] = bytes.Replace(l[6], []byte("2026-11-24"), []byte("2026-11-25"), 1) },
		"another hash":  func(l [][]byte) { l[6] = bytes.Replace(l[6], []byte(`"hash":"`), []byte(`"hash":"0`), 1) },
		"another key":   func(l [][]byte) { r, _ := trail.Parse(l[6]); l[6] = trail.Redact(nil, r, key(2), "ers_1", time.Now()) },
		"a former name": func(l [][]byte) { l[6] = bytes.Replace(l[6], []byte(`"details":{}`), []byte(`"details":{"a":1}`), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			lines := redacted(t)
			change(lines)
			r := verify(lines, public(key(1)))
			if r.OK || !slices.ContainsFunc(r.Findings, func(f trail.Finding) bool { return f.Sequence == 7 || strings.Contains(f.Text, "hash") }) {
				t.Errorf("%+v", r)
			}
		})
	}
}
