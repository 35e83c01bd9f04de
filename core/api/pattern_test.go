package api_test

import (
	"testing"
)

func TestGetPattern(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/patterns/classify", "")
	p.wants(t, 200, "")
	t.Log(p.text)
	for _, path := range []string{"/api/patterns", "/api/executions", "/api/agents", "/api/agents/x", "/api/health?detailed=true", "/api/health/ready", "/api/health/live", "/api/metrics", "/api/batch/x", "/api/executions/x", "/api/executions/x/events", "/api/executions/x/stream"} {
		p := r.do("GET", path, "")
		p.wants(t, 200, "")
		t.Log(p.text)
	}
	for _, path := range []string{"/api/patterns/x/execute", "/api/patterns/x/execute/stream", "/api/executions/x/cancel"} {
		p := r.do("POST", path, "")
		p.wants(t, 200, "")
		t.Log(p.text)
	}
}
