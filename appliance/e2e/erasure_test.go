package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/client"
)

// An erasure goes on through kill -9 at many moments of it. In the end nothing of the subject is there, what went is counted
// once, and the audit trail is sound.
func TestErasureThroughKills(t *testing.T) {
	s := serve(t, "security.audit: {enabled: true, level: verbose}")
	s.join(3, "vote", voter)
	s.put(vote, "vote", "vote")
	c := s.client(client.Options{Retry: client.RetryPolicy{MaxElapsed: patience, Base: 20 * time.Millisecond, Max: 50 * time.Millisecond}})
	const subject, canary, items = "customer-of-the-kills", 770077, 120
	inputs := make([]json.RawMessage, items)
	for i := range inputs {
		inputs[i] = number(canary*1000 + i)
	}
	batch, err := c.StartBatch(t.Context(), client.BatchRequest{
		Pattern: "vote", Inputs: inputs, Concurrency: 20, Options: client.ExecuteOptions{Metadata: map[string]any{"subject": subject}},
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the batch to end", func() bool {
		b, err := c.GetBatchPage(t.Context(), batch.BatchID, client.Page{Limit: 1})
		return err == nil && b.Status.Terminal()
	})
	e, err := c.EraseData(t.Context(), client.ErasureRequest{Subject: subject, Confirm: subject})
	if err != nil {
		t.Fatal(err)
	}
	for kills, seen := 0, -1; e.CompletedAt == nil; {
		total := 0
		for _, n := range e.Done {
			total += n
		}
		if kills < 8 && total > seen { // each time somewhere else
			s.restart()
			kills, seen = kills+1, total+items/10
		}
		if e, err = c.GetErasure(t.Context(), e.ID); err != nil {
			t.Fatal(err)
		}
	}
	if e.Done["executions"] != items || e.Done["batches"] != 1 {
		t.Errorf("%+v", e.Done)
	}
	plan, err := c.EraseData(t.Context(), client.ErasureRequest{Subject: subject, DryRun: true})
	if err != nil || len(plan.Planned) > 0 {
		t.Errorf("left over: %+v, %v", plan, err)
	}
	body, err := c.ExportAudit(t.Context(), time.Time{}, time.Time{}, "json")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	v := &trail.Verifier{Whole: true}
	if err := trail.VerifyFile(body, v); err != nil || !v.Report().OK || v.Report().Redacted == 0 {
		t.Errorf("the trail: %v, %+v", err, v.Report())
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "store", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err == nil && (bytes.Contains(raw, fmt.Append(nil, canary)) || bytes.Contains(raw, []byte(subject))) {
			t.Errorf("%s holds what was erased", filepath.Base(name))
		}
	}
}
