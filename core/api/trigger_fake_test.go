package api_test

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const triggerID = "trig_01JGFJJZ8N4Q1W0000000000AB"

// someTrigger is a trigger with every field.
func someTrigger(id string) *core.Trigger {
	until := epoch.Add(time.Hour)
	return &core.Trigger{
		ID: id, Name: "on-push", Scheme: wire.SchemeGitHub, RotatesAt: &until, Enabled: true, BlockedReason: "no", Events: []string{"push"},
		Mapping: map[string]string{"repo": "$.repository.full_name"}, RatePerMinute: 60, Target: core.Target{Execution: &core.ExecutionTarget{Pattern: "classify"}},
		Counts: wire.TriggerCounts{Started: 1}, Runs: []core.TriggerRun{{At: epoch, Outcome: wire.TriggerStarted, Delivery: "d", Event: "push", RunRef: core.RunRef{ExecutionID: execID}}},
		CreatedBy: "mira", CreatedAt: epoch, UpdatedAt: epoch, Principal: core.PrincipalRecord{ID: "mira"},
	}
}

type fakeTriggers struct {
	spec     core.TriggerSpec
	patch    core.TriggerPatch
	overlap  time.Duration
	body     string
	headers  map[string]string
	receipt  core.TriggerReceipt
	now      func(*core.Trigger) // what became of it
	err      error
	received func()
}

func (f *fakeTriggers) some(id string) (*core.Trigger, error) {
	if f.err != nil {
		return nil, f.err
	}
	if id != triggerID {
		return nil, core.NotFound("trigger", id)
	}
	found := someTrigger(id)
	if f.now != nil {
		f.now(found)
	}
	return found, nil
}

func (f *fakeTriggers) CreateTrigger(_ context.Context, spec core.TriggerSpec) (*core.Trigger, error) {
	f.spec = spec
	t, err := f.some(triggerID)
	if err == nil {
		t.Secret = "trgsec_canary"
	}
	return t, err
}

func (f *fakeTriggers) FindTriggers(context.Context, core.TriggerFilter) ([]*core.Trigger, core.PageInfo, error) {
	return []*core.Trigger{someTrigger(triggerID)}, core.PageInfo{Total: 1}, f.err
}

func (f *fakeTriggers) FindTrigger(_ context.Context, id string) (*core.Trigger, error) {
	return f.some(id)
}

func (f *fakeTriggers) UpdateTrigger(_ context.Context, id string, patch core.TriggerPatch) (*core.Trigger, error) {
	f.patch = patch
	return f.some(id)
}

func (f *fakeTriggers) RotateTrigger(_ context.Context, id, secret string, overlap time.Duration) (*core.Trigger, error) {
	f.overlap = overlap
	t, err := f.some(id)
	if err == nil {
		t.Secret = secret
	}
	return t, err
}

func (f *fakeTriggers) DeleteTrigger(_ context.Context, id string) error {
	_, err := f.some(id)
	return err
}

func (f *fakeTriggers) TryTrigger(_ context.Context, id, _ string, body []byte) (*core.TriggerTrial, error) {
	f.body = string(body)
	_, err := f.some(id)
	return &core.TriggerTrial{Outcome: wire.TriggerStarted, Input: body}, err
}

func (f *fakeTriggers) Receive(_ context.Context, id string, r core.TriggerRequest) (*core.TriggerReceipt, error) {
	f.body, f.headers = string(r.Body), map[string]string{}
	for _, name := range []string{"X-Service-Signature", "X-Github-Delivery", "X-Twice"} {
		f.headers[name] = r.Header(name)
	}
	if f.received != nil {
		f.received()
	}
	if f.err != nil {
		return nil, f.err
	}
	out := f.receipt
	out.TriggerID = id
	return &out, nil
}
