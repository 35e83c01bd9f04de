package appliance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// A request that is signed starts an execution with the rights of whoever the trigger belongs to; one that is not learns
// nothing.
func TestTriggersEndToEnd(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: echo, Name: "echo"})
	s.wants(err, 0)
	ann, ofAnn := s.key("ann", "execute")
	stranger := s.client("")
	target := client.Target{Execution: &client.ExecutionTarget{Pattern: "echo", Input: []byte(`{"mode":"safe"}`)}}
	spec := client.TriggerSpec{TriggerSpec: wire.TriggerSpec{Name: "own"}, Target: target, IdempotencyKey: "once"}
	own, err := ann.CreateTrigger(ctx, spec)
	s.wants(err, 0)
	repeated, err := ann.CreateTrigger(ctx, spec)
	s.wants(err, 0)
	if repeated.ID != own.ID || !strings.HasPrefix(own.Secret, "trgsec_") || repeated.Secret != "trgsec_***" {
		t.Errorf("%s, then %s", own.Secret, repeated.Secret)
	}
	receipt, err := stranger.SendHook(ctx, own.ID, own.Secret, "d1", "", []byte(`{"text":"<x>","mode":"evil"}`))
	s.wants(err, 0)
	e, err := ann.GetExecution(ctx, receipt.ExecutionID)
	s.wants(err, 0)
	if receipt.Outcome != wire.TriggerStarted || e.CreatedBy != "ann" || e.Options.Metadata["triggerId"] != own.ID || e.Options.Metadata["deliveryId"] != "d1" ||
		!strings.Contains(string(e.Input), `"safe"`) {
		t.Errorf("%+v, %+v", receipt, e)
	}
	again, err := stranger.SendHook(ctx, own.ID, own.Secret, "d1", "", []byte(`{"text":"<x>","mode":"evil"}`))
	s.wants(err, 0)
	if again.Outcome != wire.TriggerDuplicate || again.ExecutionID != receipt.ExecutionID {
		t.Errorf("%+v", again)
	}
	_, wrong := stranger.SendHook(ctx, own.ID, "another-secret-1", "d2", "", []byte(`{}`))
	s.wants(wrong, 401)
	_, unknown := stranger.SendHook(ctx, "trig_01JGFJJZ8N4Q1W0000000000AB", "another-secret-1", "d2", "", []byte(`{}`))
	s.wants(unknown, 401)
	if wrong.Error() != unknown.Error() {
		t.Errorf("%v differs from %v", wrong, unknown)
	}
	_, err = stranger.GetTrigger(ctx, own.ID)
	s.wants(err, 401)

	// As GitHub sends it.
	hub, err := ann.CreateTrigger(ctx, client.TriggerSpec{TriggerSpec: wire.TriggerSpec{
		Name: "hub", Scheme: wire.SchemeGitHub, Secret: "0123456789abcdef", Events: []string{"push"}, Mapping: map[string]string{"repo": "$.repository.full_name"},
	}, Target: target})
	s.wants(err, 0)
	const body = `{"repository":{"full_name":"acme/app"}}`
	mac := hmac.New(sha256.New, []byte("0123456789abcdef"))
	_, _ = mac.Write([]byte(body))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Addr()+hub.Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": "push", "X-GitHub-Delivery": "u1", "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %s %v", resp.StatusCode, text, err)
	}
	got, err := ann.GetTrigger(ctx, hub.ID)
	s.wants(err, 0)
	if len(got.Runs) != 1 || got.Runs[0].Event != "push" {
		t.Errorf("%+v", got.Runs)
	}
	if e, err = ann.GetExecution(ctx, got.Runs[0].ExecutionID); err != nil || string(e.Input) != `{"mode":"safe","repo":"acme/app"}` {
		t.Errorf("%s, %v", e.Input, err)
	}

	// Her key is revoked: the sender is refused, without a word of whose it was.
	s.wants(admin.RevokeKey(ctx, ofAnn.ID), 0)
	_, err = stranger.SendHook(ctx, own.ID, own.Secret, "d3", "", []byte(`{}`))
	s.wants(err, 403)
	if strings.Contains(err.Error(), "ann") {
		t.Error(err)
	}
	if got, err = admin.GetTrigger(ctx, own.ID); err != nil || got.BlockedReason == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if strings.Contains(s.log.String(), own.Secret) {
		t.Error("the secret is in the log")
	}
}

// A pattern may require what only the requests bring; at a schedule nobody brings it.
func TestTargetsWithRequiredInput(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: echo + "input: {text: {type: string, required: true}}\n", Name: "echo"})
	s.wants(err, 0)
	target := client.Target{Execution: &client.ExecutionTarget{Pattern: "echo"}}
	_, err = admin.CreateSchedule(ctx, client.ScheduleSpec{ScheduleSpec: wire.ScheduleSpec{Name: "daily", ScheduleTiming: client.ScheduleTiming{Cron: "0 0 29 2 *"}}, Target: target})
	s.wants(err, 400)
	hook, err := admin.CreateTrigger(ctx, client.TriggerSpec{TriggerSpec: wire.TriggerSpec{Name: "mapped", Mapping: map[string]string{"text": "$.title"}}, Target: target})
	s.wants(err, 0)
	receipt, err := admin.SendHook(ctx, hook.ID, hook.Secret, "d1", "", []byte(`{"title":"one"}`))
	s.wants(err, 0)
	if receipt.Outcome != wire.TriggerStarted {
		t.Errorf("%+v", receipt)
	}
	_, err = admin.SendHook(ctx, hook.ID, hook.Secret, "d2", "", []byte(`{}`))
	s.wants(err, 400)
}
