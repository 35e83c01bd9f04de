package agents_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// vault is a TaskSecrets of one secret.
type vault struct {
	mu    sync.Mutex
	text  string
	err   error
	block chan struct{} // until it is closed, nothing is answered; nil: at once
}

func (v *vault) set(text string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text, v.err = text, err
}

func (v *vault) TaskConfig(ctx context.Context, t *core.Task) (json.RawMessage, error) {
	if v.block != nil {
		select {
		case <-v.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return json.RawMessage(strings.ReplaceAll(string(t.Config), "vault:db#p", v.text)), v.err
}

func secretTask(id string) core.Task {
	t := task(id)
	t.Config, t.Secrets = json.RawMessage(`{"key":"vault:db#p"}`), true
	return t
}

func newSecretRig(t *testing.T, v *vault) *rig {
	t.Helper()
	r := &rig{tb: t, store: newMemory(t), clock: coretest.NewClock(), sink: newSink()}
	return r.start(agents.Options{Secrets: v})
}

// wantConfig expects a task with this secret.
func wantConfig(t *testing.T, p *peer, secret string) {
	t.Helper()
	var got protocol.Task
	p.expect(protocol.TypeTask, &got)
	if want := `{"key":"` + secret + `"}`; string(got.Config) != want {
		t.Errorf("the config is %s, want %s", got.Config, want)
	}
}

// A task has the secret of the moment in which it is sent, also when it is sent again.
func TestTaskSecrets(t *testing.T) {
	v := &vault{text: "one"}
	r := newSecretRig(t, v)
	p, reg := r.register("a", 4, "echo")
	r.give(reg.AgentID, secretTask("t1"))
	wantConfig(t, p, "one")
	v.set("two", nil)
	p.cut()
	r.waitLost(reg.AgentID)
	p, _ = r.resume(reg, []string{}, "echo")
	wantConfig(t, p, "two")
}

// A task that is released while its secrets are waited for is not sent.
func TestTaskSecretsReleased(t *testing.T) {
	v := &vault{text: "one", block: make(chan struct{})}
	r := newSecretRig(t, v)
	p, reg := r.register("a", 4, "echo")
	r.give(reg.AgentID, secretTask("t1"))
	r.svc.Release(reg.AgentID, "t1", "")
	close(v.block)
	p.quiet()
}

func TestTaskSecretsFail(t *testing.T) {
	v := &vault{}
	v.set("", core.Errorf(core.CodeValidation, "the secret vault:db#p is not there"))
	r := newSecretRig(t, v)
	_, reg := r.register("a", 4, "echo")
	r.give(reg.AgentID, secretTask("t1"))
	coretest.WaitFor(t, "the report", func() bool {
		r.sink.mu.Lock()
		defer r.sink.mu.Unlock()
		return len(r.sink.reports) == 1
	})
	got := r.sink.reports[0]
	if got.TaskID != "t1" || got.AgentID != reg.AgentID || got.Attempt != 1 || got.Err == nil || got.Err.Code != "SECRET_UNAVAILABLE" ||
		got.Err.Retryable || !strings.Contains(got.Err.Message, "vault:db#p") {
		t.Errorf("the report is %+v of %+v", got, got.Err)
	}
}
