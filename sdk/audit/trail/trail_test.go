package trail_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// record returns a record for a test to seal.
func record(sequence uint64) *wire.AuditRecord {
	return &wire.AuditRecord{
		Sequence: sequence, EventID: fmt.Sprintf("aud_%d", sequence), Timestamp: time.Date(2026, 11, 23, 9, 0, 0, int(sequence)*1e6, time.UTC),
		Category: wire.AuditExecutions, Action: "executions.create", Outcome: wire.AuditSuccess,
		Actor:    wire.AuditActor{Type: "user", ID: "ann \"<&>\" \u2028 é", IP: "10.0.0.1", UserAgent: "=cmd|' /C calc'!A0"},
		Resource: wire.AuditResource{Type: "executions", ID: "exec_1"},
		Details:  trail.AppendDetails(nil, map[string]any{"inputSize": 12, "b": []string{"x"}, "a": map[string]any{"n": json.Number("1.50")}}),
		Request:  wire.AuditRequest{Method: "POST", Path: "/api/patterns/a,b/execute", RequestID: "req_1"},
	}
}

// chain seals n records, of which each tenth is a checkpoint.
func chain(k ed25519.PrivateKey, n int) [][]byte { return chainSigned(k, n, 10) }

func chainSigned(k ed25519.PrivateKey, n, every int) [][]byte {
	var lines [][]byte
	var last trail.Hash
	for i := 1; i <= n; i++ {
		r := record(uint64(i))
		if i%every == 0 {
			r.Action, r.Details = trail.ActionCheckpoint, trail.SignCheckpoint(k, uint64(i-1), last)
		}
		var line []byte
		line, last = trail.AppendSealed(nil, r, last)
		lines = append(lines, line)
	}
	return lines
}

func verify(lines [][]byte, keys ...ed25519.PublicKey) trail.Report {
	v := &trail.Verifier{Keys: keys, Whole: true}
	for _, line := range lines {
		v.Add(line)
	}
	return v.Report()
}

func TestSoundTrail(t *testing.T) {
	lines := chain(key(1), 45)
	r := verify(lines, public(key(1)))
	if !r.OK || r.Records != 45 || r.Checkpoints != 4 || r.Signed != 39 || r.First != 1 || r.Last != 45 {
		t.Errorf("%+v", r)
	}
	if r := verify(lines); !r.OK || r.KeysGiven || r.SelfSigned != trail.KeyID(public(key(1))) {
		t.Errorf("without keys: %+v", r)
	}
	parsed, err := trail.Parse(lines[3])
	if err != nil || parsed.Sequence != 4 || !trail.Time(lines[3]).Equal(parsed.Timestamp) {
		t.Errorf("%+v, %v", parsed, err)
	}
	// A tool that writes JSON in its own way leaves the trail sound.
	var other [][]byte
	for _, line := range lines {
		var out bytes.Buffer
		if err := json.Indent(&out, line, "", " "); err != nil {
			t.Fatal(err)
		}
		other = append(other, bytes.ReplaceAll(out.Bytes(), []byte("\n"), []byte(" ")))
	}
	if r := verify(other, public(key(1))); !r.OK || r.Checkpoints != 4 {
		t.Errorf("reformatted: %+v", r)
	}
}

func TestTampering(t *testing.T) {
	good := func() [][]byte {
		lines := chain(key(1), 45)
		for i := range lines {
			lines[i] = bytes.Clone(lines[i])
		}
		return lines
	}
	resealed := func(lines [][]byte, at int) { // the record is sealed anew, as one who knows the form would
		r, _ := trail.Parse(lines[at])
		r.Actor.ID = "somebody else"
		previous, _ := trail.ParseHash(r.PreviousHash)
		lines[at], _ = trail.AppendSealed(nil, r, previous)
	}
	for _, test := range []struct {
		name, kind string
		sequence   uint64
		change     func(lines [][]byte) [][]byte
	}{
		{"one byte", trail.FindingChanged, 7, func(l [][]byte) [][]byte {
			l[6] = bytes.Replace(l[6], []byte("10.0.0.1"), []byte("10.0.0.2"), 1)
			return l
		}},
		{"a hash", trail.FindingChanged, 7, func(l [][]byte) [][]byte {
			l[6][len(l[6])-3] ^= 1
			return l
		}},
		{"a record sealed anew", trail.FindingReplaced, 7, func(l [][]byte) [][]byte { resealed(l, 6); return l }},
		{"a record removed", trail.FindingRemoved, 7, func(l [][]byte) [][]byte { return append(l[:6:6], l[7:]...) }},
		{"the first records removed", trail.FindingRemoved, 1, func(l [][]byte) [][]byte { return l[5:] }},
		{"two swapped", trail.FindingMoved, 7, func(l [][]byte) [][]byte { l[6], l[7] = l[7], l[6]; return l }},
		{"one inserted", trail.FindingInserted, 7, func(l [][]byte) [][]byte {
			more := [][]byte{bytes.Replace(l[6], []byte("ann"), []byte("bob"), 1)}
			return append(append(append([][]byte{}, l[:7]...), more...), l[7:]...)
		}},
		{"one inserted and sealed", trail.FindingInserted, 7, func(l [][]byte) [][]byte {
			line := bytes.Clone(l[6])
			resealed([][]byte{nil, line}, 1)
			r, _ := trail.Parse(l[6])
			r.Actor.ID = "mallory"
			line, _ = trail.AppendSealed(nil, r, trail.Hash{1})
			return append(append(append([][]byte{}, l[:7]...), line), l[7:]...)
		}},
		{"no record", trail.FindingUnread, 0, func(l [][]byte) [][]byte { l[6] = []byte(`{"sequence":7}`); return l }},
		{"cut off", trail.FindingUnread, 0, func(l [][]byte) [][]byte { l[44] = l[44][:200]; return l }},
		{"another member", trail.FindingUnread, 0, func(l [][]byte) [][]byte {
			l[6] = append([]byte(`{"admin":true,`), l[6][1:]...)
			return l
		}},
		{"signed by another key", trail.FindingSigned, 10, func([][]byte) [][]byte { return chain(key(2), 45) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := verify(test.change(good()), public(key(1)))
			if r.OK {
				t.Fatal("it passes")
			}
			for _, f := range r.Findings {
				if f.Kind == test.kind && f.Sequence == test.sequence {
					return
				}
			}
			t.Errorf("findings %+v, want %s of %d", r.Findings, test.kind, test.sequence)
		})
	}
}

// The whole chain is made anew behind a change: only the signatures tell.
func TestChainMadeAnew(t *testing.T) {
	lines := chain(key(1), 45)
	var last trail.Hash
	for i := range lines {
		r, err := trail.Parse(lines[i])
		if err != nil {
			t.Fatal(err)
		}
		if i == 6 {
			r.Actor.ID = "nobody"
		}
		lines[i], last = trail.AppendSealed(nil, r, last)
	}
	r := verify(lines, public(key(1)))
	if r.OK || r.Findings[0].Kind != trail.FindingSigned || r.Findings[0].Sequence != 10 {
		t.Errorf("%+v", r)
	}
}

// Every single bit of a record counts.
func TestEveryBit(t *testing.T) {
	lines := chain(key(1), 12)
	for i := range lines[4] {
		for bit := range 8 {
			changed := append([][]byte{}, lines...)
			changed[4] = bytes.Clone(lines[4])
			changed[4][i] ^= 1 << bit
			if r := verify(changed, public(key(1))); r.OK {
				t.Fatalf("byte %d, bit %d: %s", i, bit, changed[4])
			}
		}
	}
}

func TestDuplicatesAndTruncation(t *testing.T) {
	lines := chain(key(1), 45)
	again := append(append([][]byte{}, lines[:20]...), lines[15:]...)
	if r := verify(again, public(key(1))); !r.OK || r.Duplicates != 5 || r.Records != 45 {
		t.Errorf("at least once: %+v", r)
	}
	// What is cut off behind the last checkpoint cannot be noticed from the file alone; how far it is signed is told.
	if r := verify(lines[:43], public(key(1))); !r.OK || r.Signed != 39 || r.Last != 43 {
		t.Errorf("truncated: %+v", r)
	}
	trim := record(46)
	trim.Action, trim.Details = trail.ActionTrim, trail.AppendDetails(nil, map[string]any{"through": 5, "removed": 5})
	last, _ := trail.Parse(lines[44])
	previous, _ := trail.ParseHash(last.Hash)
	line, _ := trail.AppendSealed(nil, trim, previous)
	if r := verify(append(lines[5:len(lines):len(lines)], line), public(key(1))); !r.OK || r.Trimmed != 5 {
		t.Errorf("what retention removed: %+v", r)
	}
	if r := verify(append(lines[6:len(lines):len(lines)], line), public(key(1))); r.OK {
		t.Errorf("more is gone than retention removed: %+v", r)
	}
}

// Files that are emptied are no whole trail; a server that recorded nothing yet has one.
func TestEmptyTrail(t *testing.T) {
	for name, tt := range map[string]struct {
		whole bool
		file  string
		ok    bool
	}{
		"FileOfATrail": {true, "audit.log", false}, "FileOfASink": {false, "audit.log", true}, "Server": {true, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			v := &trail.Verifier{Whole: tt.whole}
			if tt.file != "" {
				v.Begin(tt.file)
			}
			if err := trail.VerifyFile(strings.NewReader(""), v); err != nil {
				t.Fatal(err)
			}
			r := v.Report()
			if r.OK != tt.ok || !tt.ok && (len(r.Findings) != 1 || r.Findings[0].Kind != trail.FindingRemoved || r.Findings[0].File != tt.file) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func export(t *testing.T, lines [][]byte, format trail.Format) string {
	t.Helper()
	var out bytes.Buffer
	w, err := trail.NewWriter(&out, format, "1.2.3")
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
	return out.String()
}

func TestExports(t *testing.T) {
	lines := chain(key(1), 45)
	for _, format := range []trail.Format{trail.FormatJSON, trail.FormatCSV} {
		text := export(t, lines, format)
		v := &trail.Verifier{Keys: []ed25519.PublicKey{public(key(1))}, Whole: true}
		if err := trail.VerifyFile(strings.NewReader(text), v); err != nil {
			t.Fatal(err)
		}
		if r := v.Report(); !r.OK || r.Records != 45 || r.Checkpoints != 4 {
			t.Errorf("%s: %+v", format, r)
		}
		v = &trail.Verifier{Keys: []ed25519.PublicKey{public(key(1))}}
		if err := trail.VerifyFile(strings.NewReader(strings.Replace(text, "exec_1", "exec_2", 1)), v); err != nil {
			t.Fatal(err)
		}
		if r := v.Report(); r.OK || r.Findings[0].Kind != trail.FindingChanged || r.Findings[0].Sequence != 1 {
			t.Errorf("%s, changed: %+v", format, r)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(export(t, lines, trail.FormatCSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				t.Errorf("a spreadsheet takes %q for a formula", cell)
			}
		}
	}
	if err := trail.VerifyFile(strings.NewReader(export(t, lines, trail.FormatCEF)), &trail.Verifier{}); err == nil {
		t.Error("CEF cannot be verified, and that is said")
	}
	if _, err := trail.NewWriter(&bytes.Buffer{}, "xml", ""); err == nil {
		t.Error("xml is no format")
	}
}

// What a user can choose cannot end an event of CEF, nor add a field to one.
func TestCEFInjection(t *testing.T) {
	r := record(1)
	r.Actor.ID = "ann outcome=success\nCEF:0|Evil|Evil|1|x|y|1|suser=root"
	r.Action = "a|b\\c\nd"
	line, _ := trail.AppendSealed(nil, r, trail.Hash{})
	text := export(t, [][]byte{line}, trail.FormatCEF)
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, `CEF:0|Wardroom|Wardroom|1.2.3|a\|b\\c d|`) {
		t.Errorf("%q", text)
	}
	if strings.Contains(text, "|suser=root") || !strings.Contains(text, `suid=ann outcome\=success\nCEF:0\|Evil`) {
		t.Errorf("%q", text)
	}
}

func BenchmarkVerify(b *testing.B) {
	const n = 100_000
	lines := chainSigned(key(1), n, 1000)
	for b.Loop() {
		v := &trail.Verifier{Keys: []ed25519.PublicKey{public(key(1))}}
		for _, line := range lines {
			v.Add(line)
		}
		if r := v.Report(); !r.OK {
			b.Fatal(r.Findings)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkSeal(b *testing.B) {
	r := record(1)
	var line []byte
	var last trail.Hash
	for b.Loop() {
		line, last = trail.AppendSealed(line[:0], r, last)
	}
}
