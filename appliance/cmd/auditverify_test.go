package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

// sealedLines returns the lines of a trail.
func sealedLines(n int) [][]byte {
	var lines [][]byte
	var last trail.Hash
	for i := range n {
		var line []byte
		line, last = trail.AppendSealed(nil, &wire.AuditRecord{
			Sequence: uint64(i + 1), EventID: "aud_1", Timestamp: time.Date(2026, 11, 23, 9, 0, i, 0, time.UTC), Category: wire.AuditExecutions,
			Action: "executions.create", Outcome: wire.AuditSuccess, Actor: wire.AuditActor{Type: "user", ID: "ann"},
		}, last)
		lines = append(lines, append(line, '\n'))
	}
	return lines
}

// The last line of a file that a sink has open may have no end yet, which is no damage; that of any other file is, and so is a line
// within.
func TestAuditVerifyWhileWritten(t *testing.T) {
	dir := t.TempDir()
	lines := sealedLines(6)
	write := func(name string, parts ...[]byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, slices.Concat(parts...), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	half := lines[2][:len(lines[2])/2]
	verify := func(code int, files ...string) trail.Report {
		t.Helper()
		r := execute(t, "", append([]string{"audit", "verify", "--whole", "-o", "json"}, files...)...)
		r.expect(t, code)
		var report trail.Report
		if err := json.Unmarshal([]byte(r.stdout.String()), &report); err != nil || report.OK != (code == 0) {
			t.Errorf("%v %+v", err, report)
		}
		return report
	}
	live := write("audit.log", lines[0], lines[1], half)
	if r := verify(1, live); len(r.Findings) != 1 || r.Findings[0].Kind != trail.FindingUnread || r.Unfinished != nil {
		t.Errorf("at rest: %+v", r)
	}
	sink, err := os.Open(live)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	if err := syscall.Flock(int(sink.Fd()), syscall.LOCK_EX); err != nil { // as audit-file does
		t.Fatal(err)
	}
	if r := verify(0, live); r.Unfinished == nil || r.Unfinished.Line != 3 || r.Unfinished.File != live || r.Last != 2 || len(r.Findings) > 0 {
		t.Errorf("while it is written: %+v", r)
	}
	shown := execute(t, "", "audit", "verify", live)
	shown.expect(t, 0)
	if !strings.Contains(shown.stdout.String(), "line 3, which is being written: no damage") {
		t.Errorf("%s", shown.stdout.String())
	}
	rest := write("next.log", lines[2], lines[3], lines[4], lines[5])
	if r := verify(1, live, rest); len(r.Findings) != 1 || r.Findings[0].File != live || r.Findings[0].Line != 3 {
		t.Errorf("behind it others come: %+v", r)
	}
	if err := os.WriteFile(live, slices.Concat(lines[0], half, []byte{'\n'}, lines[1], lines[2]), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(1, live); len(r.Findings) != 1 || r.Findings[0].Line != 2 {
		t.Errorf("within: %+v", r)
	}
	if err := os.WriteFile(live, slices.Concat(lines[0], lines[1], lines[2][:len(lines[2])-1]), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(0, live); r.Last != 3 || r.Unfinished != nil {
		t.Errorf("all but the end of the line: %+v", r)
	}
}
