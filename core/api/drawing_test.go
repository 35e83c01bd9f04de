package api_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestDrawings(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/patterns/team/drawing?version=1.x", "")
	p.wants(t, 200, "")
	if p.at("name") != "team" || p.at("version") != "1.x" {
		t.Error(p.text)
	}
	p = r.do("GET", "/api/patterns/team/drawing?format=svg", "")
	if p.status != 200 || p.text != "<svg>team</svg>" || p.header.Get("Content-Type") != "image/svg+xml" ||
		!strings.HasPrefix(p.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v %s", p.status, p.header, p.text)
	}
	if again := r.do("GET", "/api/patterns/team/drawing?format=svg", "", "If-None-Match: "+p.header.Get("ETag")); again.status != 304 {
		t.Errorf("again: %d", again.status)
	}
	r.do("GET", "/api/patterns/missing/drawing", "").wants(t, 404, core.CodeNotFound)
	r.do("GET", "/api/patterns/team/drawing?format=png", "").wants(t, 400, core.CodeValidation)

	p = r.do("POST", "/api/patterns/drawing", `{"definition": "name: draft"}`)
	if p.wants(t, 200, ""); p.at("name") != "draft" {
		t.Error(p.text)
	}
	if p = r.do("POST", "/api/patterns/drawing?format=svg", "name: text", "Content-Type: application/yaml"); p.status != 200 || p.text != "<svg>text</svg>" {
		t.Errorf("%d %s", p.status, p.text)
	}
	p = r.do("POST", "/api/patterns/drawing", `{"definition": "x"}`)
	if p.wants(t, 400, core.CodeValidation); !strings.Contains(p.text, `"line":1`) {
		t.Error(p.text)
	}
}
