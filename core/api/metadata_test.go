package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// Numbers of metadata reach the service as they were written; one that no reader could take is refused.
func TestMetadataNumbers(t *testing.T) {
	r := newRig(t)
	var got core.ExecuteRequest
	r.executions.start = func(_ context.Context, req core.ExecuteRequest) (*core.Execution, error) {
		got = req
		return someExecution(execID, core.ExecutionPending), nil
	}
	const metadata = `{"id":12345678901234567891,"n":[9007199254740993,1.50]}`
	r.do("POST", "/api/patterns/classify/execute?async=true", `{"options":{"metadata":`+metadata+`}}`).wants(t, 202, "")
	if raw, err := json.Marshal(got.Options.Metadata); err != nil || string(raw) != metadata {
		t.Errorf("the service got %s, %v", raw, err)
	}
	p := r.do("POST", "/api/patterns/classify/execute?async=true", `{"options":{"metadata":{"a":{"b":1e999}}}}`)
	p.wants(t, 400, core.CodeValidation)
	if !strings.Contains(p.text, "1e999") || !strings.Contains(p.text, "options.metadata") {
		t.Errorf("the answer does not say what is wrong: %s", p.text)
	}
}
