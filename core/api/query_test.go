package api_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestQuery(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ path, field, reason string }{
		{"/api/patterns?limit=0", "limit", "must be from 1 to 100, not 0"},
		{"/api/patterns?limit=101", "limit", "must be from 1 to 100, not 101"},
		{"/api/patterns?limit=ten", "limit", `must be a whole number, not "ten"`},
		{"/api/patterns?limit=", "limit", "must be a whole number"},
		{"/api/patterns?limit=1.5", "limit", "must be a whole number"},
		{"/api/patterns?limit=99999999999999999999", "limit", "must be a whole number"},
		{"/api/patterns?offset=-1", "offset", "must be at least 0, not -1"},
		{"/api/patterns?limt=3", "limt", "unknown query parameter; did you mean limit?"},
		{"/api/patterns?zzzzzz=3", "zzzzzz", "unknown query parameter; known are limit, offset, cursor, search"},
		{"/api/health/live?x=3", "x", "unknown query parameter; none is known here"},
		{"/api/patterns?limit=3&limit=4", "limit", "is given twice"},
		{"/api/patterns?search=%zz", "search", "must be percent-encoded properly"},
		{"/api/patterns?search=%00", "search", "must be UTF-8 without NUL"},
		{"/api/patterns?search=%ff", "search", "must be UTF-8 without NUL"},
		{"/api/patterns?search=" + strings.Repeat("a", 1025), "search", "must be at most 1024 bytes"},
		{"/api/executions?status=done", "status", "must be one of pending, running, completed, failed, cancelled"},
		{"/api/executions?since=yesterday", "since", "must be an RFC 3339 time"},
		{"/api/executions?since=2026-01-02", "since", "must be an RFC 3339 time"},
		{"/api/executions?until=2026-13-02T00:00:00Z", "until", "must be an RFC 3339 time"},
		{"/api/health?detailed=yes", "detailed", "must be true or false"},
		{"/api/health?detailed", "detailed", "must be true or false"},
	} {
		p := r.do("GET", c.path, "")
		p.wants(t, 400, core.CodeValidation)
		reason, _ := p.at("error", "details", "reason").(string)
		if p.at("error", "details", "field") != c.field || !strings.HasPrefix(reason, c.reason) {
			t.Errorf("%s: %v", c.path, p.at("error", "details"))
		}
	}
	p := r.do("GET", "/api/executions?limit=0&since=x&status=y&what=z", "")
	if list, _ := p.at("error", "details", "errors").([]any); len(list) != 4 {
		t.Errorf("not every problem is told: %s", p.text)
	}
	r.do("GET", "/api/patterns?&limit=3&&", "").wants(t, 200, "")
}
