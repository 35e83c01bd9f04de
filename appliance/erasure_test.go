package appliance_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// filesWith returns the files below a directory that hold a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // files come and go while the server runs
		}
		raw, err := os.ReadFile(path)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What is stored of a subject is in its export, and in no answer, stream, audit record or file of the store after its erasure;
// what is stored of others stays.
func TestErasure(t *testing.T) {
	r := newReceiver(t)
	s := protect(t, r, "")
	defer s.Close()
	answering(t, s)
	admin := s.client(s.adminKey)
	if _, err := admin.CreatePattern(t.Context(), client.PatternInput{Definition: echo}); err != nil {
		t.Fatal(err)
	}
	// Two ways to be the subject: who made it, and whom it is about.
	const subject, secret = "ann-of-the-lab", "canary-4711-of-ann"
	ann, _ := s.key(subject, "execute", "patterns:read")
	run := func(c *client.Client, text string, metadata map[string]any) string {
		t.Helper()
		e, err := c.Execute(t.Context(), client.ExecuteRequest{
			Pattern: "echo", Input: json.RawMessage(`{"text":"` + text + `"}`), Options: client.ExecuteOptions{Metadata: metadata}, IdempotencyKey: text,
		})
		if err != nil {
			t.Fatal(err)
		}
		return e.ExecutionID
	}
	own := run(ann, secret+"-own", nil)
	about := run(admin, secret+"-about", map[string]any{"subject": subject})
	other := run(admin, "of-somebody-else", nil)
	batch, err := ann.StartBatch(t.Context(), client.BatchRequest{Pattern: "echo", Inputs: []json.RawMessage{json.RawMessage(`{"text":"` + secret + `-batch"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the batch to end", func() bool {
		b, err := admin.GetBatch(t.Context(), batch.BatchID)
		return err == nil && b.Status.Terminal()
	})
	if _, err := admin.CreateSchedule(t.Context(), client.ScheduleSpec{
		ScheduleSpec: wire.ScheduleSpec{Name: "hers", ScheduleTiming: wire.ScheduleTiming{Cron: "0 0 1 1 *"}},
		Target: client.Target{Execution: &wire.ExecutionTarget{Pattern: "echo", Input: json.RawMessage(`{"text":"` + secret + `-schedule"}`),
			Options: wire.ExecuteOptions{Metadata: map[string]any{"subject": subject}}}},
	}); err != nil {
		t.Fatal(err)
	}

	body, err := admin.ExportData(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	export, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"-own", "-about", "-batch", "-schedule", `{"kind":"end"`} {
		if !strings.Contains(string(export), part) {
			t.Errorf("the export lacks %s", part)
		}
	}
	if strings.Contains(string(export), "of-somebody-else") {
		t.Error("the export has what is of somebody else")
	}

	if _, err := admin.EraseData(t.Context(), client.ErasureRequest{Subject: subject}); err == nil {
		t.Error("an erasure without its confirmation was begun")
	}
	if _, err := ann.EraseData(t.Context(), client.ErasureRequest{Subject: subject, DryRun: true}); err == nil {
		t.Error("somebody without the scope admin may erase")
	}
	plan, err := admin.EraseData(t.Context(), client.ErasureRequest{Subject: subject, DryRun: true})
	if err != nil || plan.ID != "" || plan.Planned["executions"] != 3 || plan.Planned["batches"] != 1 || plan.Planned["schedules"] != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	e, err := admin.EraseData(t.Context(), client.ErasureRequest{Subject: subject, Confirm: subject})
	if err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the erasure to end", func() bool {
		now, err := admin.GetErasure(t.Context(), e.ID)
		if err == nil && now.Status == wire.ErasureCompleted {
			e = now
		}
		return e.Status == wire.ErasureCompleted
	})
	if e.Done["executions"] != 3 || e.Done["batches"] != 1 || e.Done["schedules"] != 1 || e.Done["audit"] == 0 || len(e.Remaining) == 0 {
		t.Errorf("%+v", e.Erasure)
	}
	for _, path := range []string{
		"/api/executions", "/api/executions?createdBy=" + subject, "/api/executions/" + other, "/api/batches", "/api/schedules",
		"/api/audit?limit=100", "/api/audit/export", "/api/data/erasures",
	} {
		if text := s.read(s.adminKey, path); strings.Contains(text, secret) || path != "/api/executions?createdBy="+subject && strings.Contains(text, subject) {
			t.Errorf("%s still tells of the subject: %s", path, text)
		}
	}
	for _, path := range []string{"/api/executions/" + own, "/api/executions/" + about, "/api/batch/" + batch.BatchID} {
		if code, _ := s.get(s.adminKey, path); code != 404 {
			t.Errorf("%s answers %d", path, code)
		}
	}
	if text := s.read(s.adminKey, "/api/executions/"+other); !strings.Contains(text, "of-somebody-else") {
		t.Error("what is of somebody else is gone")
	}
	v := &trail.Verifier{Whole: true}
	if err := trail.VerifyFile(strings.NewReader(s.read(s.adminKey, "/api/audit/export")), v); err != nil {
		t.Fatal(err)
	}
	if report := v.Report(); !report.OK || report.Redacted == 0 || report.Redacted != e.Done["audit"] {
		t.Errorf("the trail: %+v", report)
	}
	if found := filesWith(t, filepath.Join(s.dir, "store"), secret); len(found) > 0 {
		t.Errorf("files of the store still hold it: %v", found)
	}
	// It is recorded, and doing it again finds nothing.
	if text := s.read(s.adminKey, "/api/audit?action=data.erased"); !strings.Contains(text, e.Pseudonym) {
		t.Errorf("the erasure is not recorded: %s", text)
	}
	if plan, err := admin.EraseData(t.Context(), client.ErasureRequest{Subject: subject, DryRun: true}); err != nil || len(plan.Planned) > 0 {
		t.Errorf("left over: %+v, %v", plan, err)
	}
}

// The dump that an upgrade left beside the store has what is erased afterwards, so an erasure names it.
func TestErasureNamesTheDumpOfAnUpgrade(t *testing.T) {
	s := protect(t, newReceiver(t), "")
	defer s.Close()
	admin := s.client(s.adminKey)
	dump := filepath.Join(s.dir, "store", "before-migration.dump")
	named := func() bool {
		t.Helper()
		e, err := admin.EraseData(t.Context(), client.ErasureRequest{Subject: "ann", DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(e.Remaining, func(r wire.DataRemainder) bool {
			return r.Kind == "dumps" && r.Count == 1 && strings.HasPrefix(r.Note, dump+", ")
		})
	}
	if named() {
		t.Error("a dump is named that is not there")
	}
	if err := os.WriteFile(dump, []byte("records"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !named() {
		t.Error("the dump is not named")
	}
}
