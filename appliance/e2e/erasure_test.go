package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// What a subject's threads and agents were told and said is after an erasure in no file: not in the rooms, logs and events of
// the runtime, the workspaces and mirrors of repositories, the store, or the audit export, where their name is not either.
// What somebody else did stays.
func TestErasureOfThreads(t *testing.T) {
	t.Parallel()
	c := managed(t)
	c.stop()
	dir := filepath.Join(c.dir, "store")
	c.configure("store.path: "+dir, "plugins.dir: "+plugins, "runtimes.local: {plugin: runtime-local}", shellType,
		"server.environment: development", "security.authentication: {apiKeys: {enabled: true}}", "security.audit: {enabled: true, level: verbose}")
	key := func(name string, scopes ...string) *client.Client {
		t.Helper()
		k, err := c.api.CreateKey(t.Context(), client.APIKeySpec{Name: name, Scopes: scopes}, "")
		if err != nil {
			t.Fatal(err)
		}
		return c.client(client.Options{Token: k.Key})
	}
	c.http = &http.Client{Transport: c.transport} // the document that it was compared with has no keys
	c.start()
	token, err := os.ReadFile(filepath.Join(dir, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	c.api = c.client(client.Options{Token: string(bytes.TrimSpace(token))})
	c.runtimeReady()
	const subject, secret, others = "ann-of-the-threads", "canary-5150-of-ann", "of-somebody-else"
	admin := c.api
	ann := key(subject, "execute", "agents:manage", "read")

	// A thread in a repository, which writes, commits and says things, one that is labelled with the subject, and an agent.
	thread := func(who *client.Client, word string, metadata map[string]any) *client.Thread {
		t.Helper()
		r, err := who.SpawnThread(t.Context(), client.ThreadSpec{
			ExecutionID: client.NewExecution, AgentType: "shell", Name: "the-" + word, Role: "maker", Metadata: metadata,
			Objective: "echo " + word + "-said | tee " + word + "-file; git add -A; git -c user.name=x -c user.email=x@example.com commit -qm " + word + "-commit; git status | head -1",
			Preparation: client.ThreadPreparation{
				Workspace: &client.WorkspaceSpec{Repo: repository(t), Branch: "main"}, Env: map[string]string{"WORD": word + "-env"},
				ContextFiles: []client.ContextFile{{Path: "context.md", Content: word + "-context"}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		slowly(t, "the first turn of "+r.ID, func() bool {
			now, err := admin.GetThread(t.Context(), r.ID)
			return err == nil && now.TurnCount > 0
		})
		if _, err := who.SendThread(t.Context(), r.ID, client.ThreadInput{Message: "echo " + word + "-more; wc -c context.md"}); err != nil {
			t.Fatal(err)
		}
		slowly(t, "the second turn of "+r.ID, func() bool {
			now, err := admin.GetThread(t.Context(), r.ID)
			return err == nil && now.TurnCount > 1
		})
		return r
	}
	own := thread(ann, secret+"-own", nil)
	thread(admin, secret+"-about", map[string]any{"subject": subject})
	other := thread(admin, others, nil)
	c.api = ann
	a := c.spawn(client.ManagedAgentSpec{Type: "shell", Name: "the-" + secret})
	c.await(a.ID, client.ManagedReady)
	c.ask(a.ID, "echo "+secret+"-asked > "+secret+"-file; cat "+secret+"-file")
	c.api = admin
	// The same after the death of the runtime: what it reads again is in files.
	c.killRuntime()
	c.runtimeReady()

	if _, err := admin.EraseData(t.Context(), client.ErasureRequest{Subject: subject, Confirm: subject}); client.CodeOf(err) != client.CodeConflict {
		t.Fatalf("what runs is erased: %v", err)
	}
	e, err := admin.EraseData(t.Context(), client.ErasureRequest{Subject: subject, Confirm: subject, Cancel: true})
	if err != nil {
		t.Fatal(err)
	}
	slowly(t, "the erasure", func() bool {
		if e, err = admin.GetErasure(t.Context(), e.ID); err != nil {
			t.Fatal(err)
		}
		return e.CompletedAt != nil
	})
	if e.Done["threads"] != 2 || e.Done["managedAgents"] != 3 || e.Done["workspaces"] != 2 {
		t.Errorf("%+v", e.Erasure)
	}
	keys := 0
	for _, r := range e.Remaining {
		switch r.Kind {
		case "runtimes", "mirrors":
			t.Errorf("%+v", r)
		case "keys":
			keys = r.Count
		}
	}
	if keys != 1 {
		t.Errorf("of %d keys of the subject it is said that they stay", keys)
	}
	body, err := admin.ExportAudit(t.Context(), time.Time{}, time.Time{}, "json")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	export, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"resource":{"id":"` + other.ID; !bytes.Contains(export, []byte(want)) && !bytes.Contains(export, []byte(`"id":"`+other.ID+`"`)) {
		t.Error("no record names the thread that somebody else made")
	}
	for line := range bytes.Lines(export) {
		if bytes.Contains(line, []byte(secret)) || bytes.Contains(line, []byte(subject)) {
			t.Errorf("the audit export has %s", line)
		}
	}
	v := &trail.Verifier{Whole: true}
	if err := trail.VerifyFile(bytes.NewReader(export), v); err != nil || !v.Report().OK || v.Report().Redacted == 0 {
		t.Errorf("the trail: %v, %+v", err, v.Report())
	}
	inFiles(t, c.dir, secret)
	if now, err := admin.GetThread(t.Context(), other.ID); err != nil || now.TurnCount != 2 {
		t.Errorf("the thread of somebody else: %+v, %v", now, err)
	}
	if _, err := admin.GetThread(t.Context(), own.ID); client.CodeOf(err) != client.CodeNotFound {
		t.Errorf("the thread of the subject: %v", err)
	}
	if err := admin.StopThread(t.Context(), other.ID, true, 0); err != nil {
		t.Error(err)
	}
	c.stop()
	inFiles(t, c.dir, secret)
	inFiles(t, filepath.Join(dir, "workspaces"), subject)
}
