package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/client"
)

// The trail of a real server, damaged in files in all the ways that somebody may: the command says what and where, with its
// exit code.
func TestAuditFilesDamaged(t *testing.T) {
	s := serve(t, "security.audit: {enabled: true}")
	s.join(3, "vote", voter)
	s.put(vote, "vote", "vote")
	for n := range 40 {
		if _, err := s.api.Execute(t.Context(), client.ExecuteRequest{Pattern: "vote", Input: number(n)}); err != nil {
			t.Fatal(err)
		}
	}
	s.stop() // which signs
	dir := t.TempDir()
	whole := filepath.Join(dir, "trail.jsonl")
	if out, code := s.atRest("audit", "export", "--format", "json", "--file", whole); code != 0 {
		t.Fatalf("audit export: %d %s", code, out)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(s.dir, "store", "audit.pub")
	lines := slices.Collect(bytes.Lines(text))
	if len(lines) < 50 {
		t.Fatalf("the trail has %d records", len(lines))
	}
	verify := func(t *testing.T, files ...string) (trail.Report, int) {
		t.Helper()
		out, code := s.command(append([]string{"audit", "verify", "-o", "json", "--whole", "--public-key", public}, files...)...)
		var r trail.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("%d %q: %v", code, out, err)
		}
		return r, code
	}
	write := func(t *testing.T, name string, parts ...[]byte) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, slices.Concat(parts...), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	zip := func(parts ...[]byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(slices.Concat(parts...))
		_ = z.Close()
		return b.Bytes()
	}
	if r, code := verify(t, whole); code != 0 || !r.OK || r.Records != len(lines) || r.Checkpoints == 0 {
		t.Fatalf("%d %+v", code, r)
	}
	const at = 20
	edit := func(change func(r map[string]any)) [][]byte {
		var record map[string]any
		d := json.NewDecoder(bytes.NewReader(lines[at]))
		d.UseNumber()
		if err := d.Decode(&record); err != nil {
			t.Fatal(err)
		}
		change(record)
		line, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		out := slices.Clone(lines)
		out[at] = append(line, '\n')
		return out
	}
	without := slices.Delete(slices.Clone(lines), at, at+1)
	swapped := slices.Clone(lines)
	swapped[at], swapped[at+1] = swapped[at+1], swapped[at]
	half := slices.Concat(lines[:len(lines)/2]...)
	rest := slices.Concat(lines[len(lines)/2:]...)
	for name, tt := range map[string]struct {
		files func(t *testing.T) []string
		kind  string
	}{
		"Edited": {func(t *testing.T) []string {
			return []string{write(t, "a.log", edit(func(r map[string]any) { r["outcome"] = "denied" })...)}
		}, trail.FindingChanged},
		"EditedZipped": {func(t *testing.T) []string {
			return []string{write(t, "a.log.gz", zip(edit(func(r map[string]any) { r["outcome"] = "denied" })...))}
		}, trail.FindingChanged},
		"Removed":       {func(t *testing.T) []string { return []string{write(t, "a.log", without...)} }, trail.FindingRemoved},
		"Swapped":       {func(t *testing.T) []string { return []string{write(t, "a.log", swapped...)} }, trail.FindingMoved},
		"FileMissing":   {func(t *testing.T) []string { return []string{write(t, "b.log", rest)} }, trail.FindingRemoved},
		"FilesSwapped":  {func(t *testing.T) []string { return []string{write(t, "b.log", rest), write(t, "a.log", half)} }, ""},
		"CutInALine":    {func(t *testing.T) []string { return []string{write(t, "a.log", text[:len(text)-100])} }, trail.FindingUnread},
		"CutZip":        {func(t *testing.T) []string { z := zip(lines...); return []string{write(t, "a.log.gz", z[:len(z)-200])} }, trail.FindingUnread},
		"NoZip":         {func(t *testing.T) []string { return []string{write(t, "a.log.gz", text)} }, trail.FindingUnread},
		"Zeros":         {func(t *testing.T) []string { return []string{write(t, "a.log", half, make([]byte, 4096), rest)} }, trail.FindingUnread},
		"SignedAnew":    {func(t *testing.T) []string { return []string{write(t, "a.log", signedAnew(t, lines)...)} }, trail.FindingSigned},
		"OfAnotherPast": {func(t *testing.T) []string { return []string{write(t, "a.log", half, half)} }, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			r, code := verify(t, tt.files(t)...)
			if tt.kind == "-" { // at least once is no damage
				if code != 0 || r.Duplicates == 0 {
					t.Errorf("%d %+v", code, r)
				}
				return
			}
			if code != 1 || r.OK {
				t.Fatalf("it passes: %d %+v", code, r)
			}
			if tt.kind != "" && !slices.ContainsFunc(r.Findings, func(f trail.Finding) bool { return f.Kind == tt.kind && f.File != "" }) {
				t.Errorf("findings %+v, want %s", r.Findings, tt.kind)
			}
		})
	}
	// Where a line was cut off shows how much of its end is missing.
	if r, code := verify(t, write(t, "a.log", half)); code != 0 || r.Last != uint64(len(lines)/2) || r.Signed >= uint64(len(lines)/2) && r.Checkpoints == 0 {
		t.Errorf("%d %+v", code, r)
	}
}

// signedAnew is a trail that somebody made anew behind a change, with a key of their own.
func signedAnew(t *testing.T, lines [][]byte) [][]byte {
	t.Helper()
	var last trail.Hash
	out := make([][]byte, len(lines))
	for i, line := range lines {
		r, err := trail.Parse(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		if i == 10 {
			r.Actor.ID = "nobody"
		}
		sealed, hash := trail.AppendSealed(nil, r, last)
		out[i], last = append(sealed, '\n'), hash
	}
	return out
}

// In the mode blocking nothing happens that cannot be recorded: on a full disk each change is refused, and none is made. It is
// over when there is room, and the trail is sound.
func TestAuditBlockingOnFullDisk(t *testing.T) {
	onSmallDisks(t, func(t *testing.T, disk string) {
		s := configured(t, t.TempDir(), filepath.Join(disk, "store"), "store.minFree: 64MiB\nsecurity.audit: {enabled: true, mode: blocking}")
		s.start()
		s.join(3, "vote", voter)
		s.put(vote, "vote", "vote")
		run := func() int {
			t.Helper()
			_, err := s.api.Execute(t.Context(), client.ExecuteRequest{Pattern: "vote", Input: number(1)})
			var refused *client.Error
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			if refused == nil {
				return 0
			}
			return refused.Status
		}
		count := func() int {
			t.Helper()
			list, err := s.api.ListExecutions(t.Context(), client.ExecutionFilter{})
			if err != nil {
				t.Fatal(err)
			}
			return list.Total
		}
		if code := run(); code != 0 {
			t.Fatalf("with room: %d", code)
		}
		remove := fill(t, disk, 32*mib)
		eventually(t, "refusals", func() bool { return run() == http.StatusServiceUnavailable })
		before := count()
		for range 5 {
			if code := run(); code != http.StatusServiceUnavailable {
				t.Errorf("on a full disk: %d", code)
			}
		}
		if now := count(); now != before {
			t.Errorf("%d executions came to be without a record", now-before)
		}
		remove()
		eventually(t, "room", func() bool { return run() == 0 })
		s.stop()
		out, code := s.atRest("audit", "verify")
		if code != 0 || !strings.Contains(out, "sound") {
			t.Errorf("audit verify: %d %s", code, out)
		}
	})
}

// atRest runs a command on the store of a server that was stopped.
func (s *server) atRest(args ...string) (string, int) {
	s.t.Helper()
	s.t.Setenv("E2E_LISTEN", s.addr) // which the configuration names
	return s.command(append(args, "--config", filepath.Join(s.dir, "wardroom.yaml"))...)
}
