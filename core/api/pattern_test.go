package api_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

const yamlText = "name: classify\nversion: 1.0.0\n"

func TestListPatterns(t *testing.T) {
	r := newRig(t)
	var got core.PatternFilter
	r.patterns.findAll = func(f core.PatternFilter) ([]*core.Pattern, core.PageInfo, error) {
		got = f
		return []*core.Pattern{somePattern("b", "2.0.0")}, core.PageInfo{Total: 7, HasMore: true, NextCursor: "n"}, nil
	}
	p := r.do("GET", "/api/patterns?limit=1&offset=3&search=Sort%20me", "")
	p.wants(t, 200, "")
	if want := (core.PatternFilter{Search: "Sort me", Page: core.Page{Limit: 1, Offset: 3}}); got != want {
		t.Errorf("filter %+v, want %+v", got, want)
	}
	want := `{"patterns":[{"name":"b","version":"2.0.0","description":"sorts \"texts\"",` +
		`"createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"2026-01-02T03:04:05.678Z"}],` +
		`"total":7,"limit":1,"offset":3,"hasMore":true,"nextCursor":"n"}`
	if p.text != want {
		t.Errorf("body\n%s\nwant\n%s", p.text, want)
	}
	r.do("GET", "/api/patterns?cursor=n", "").wants(t, 200, "")
	if got.Cursor != "n" || got.Limit != core.DefaultPageLimit {
		t.Errorf("filter %+v", got)
	}
	r.do("GET", "/api/patterns?cursor=n&offset=2", "").wants(t, 400, core.CodeValidation)
}

func TestGetPattern(t *testing.T) {
	r := newRig(t)
	var name, version string
	r.patterns.find = func(n, v string) (*core.Pattern, error) {
		name, version = n, v
		p := somePattern(n, "1.4.0")
		p.ReadOnly, p.Source = true, "name: classify # the one\n"
		return p, nil
	}
	p := r.do("GET", "/api/patterns/classify?version=1.x", "")
	p.wants(t, 200, "")
	if name != "classify" || version != "1.x" {
		t.Errorf("asked for %q %q", name, version)
	}
	want := `{"name":"classify","version":"1.4.0","description":"sorts \"texts\"","definition":{"agents":{"min":3}},"source":"name: classify # the one\n",` +
		`"createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"2026-01-02T03:04:05.678Z","createdBy":"anonymous","readOnly":true}`
	if p.text != want {
		t.Errorf("body\n%s\nwant\n%s", p.text, want)
	}

	r.patterns.find = func(n, _ string) (*core.Pattern, error) { return nil, core.NotFound("pattern", n) }
	p = r.do("GET", "/api/patterns/none", "")
	p.wants(t, 404, core.CodeNotFound)
	if p.at("error", "details", "resource") != "pattern" || p.at("error", "details", "id") != "none" {
		t.Errorf("details %v", p.at("error", "details"))
	}
}

// Versions come in pages, of a hundred unless less is asked for.
func TestPatternVersionPages(t *testing.T) {
	r := newRig(t)
	for path, want := range map[string]string{
		"":                  `"total":2,"limit":100,"offset":0,"hasMore":false}`,
		"?limit=1":          `"total":2,"limit":1,"offset":0,"hasMore":true}`,
		"?limit=1&offset=1": `"total":2,"limit":1,"offset":1,"hasMore":false}`,
		"?offset=9":         `{"versions":[],"total":2,"limit":100,"offset":9,"hasMore":false}`,
	} {
		if p := r.do("GET", "/api/patterns/classify/versions"+path, ""); !strings.HasSuffix(p.text, want) {
			t.Errorf("%s: %s", path, p.text)
		}
	}
	r.do("GET", "/api/patterns/classify/versions?limit=101", "").wants(t, 400, core.CodeValidation)
}

func TestListPatternVersions(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/patterns/classify/versions", "")
	p.wants(t, 200, "")
	want := `{"versions":[{"version":"2.0.0","createdAt":"2026-01-02T03:04:05.678Z"},` +
		`{"version":"1.0.0","createdAt":"2026-01-02T03:04:05.678Z"}],"total":2,"limit":100,"offset":0,"hasMore":false}`
	if p.text != want {
		t.Errorf("body %s", p.text)
	}
}

func TestCreatePattern(t *testing.T) {
	r := newRig(t)
	var got core.PatternInput
	r.patterns.create = func(ctx context.Context, in core.PatternInput) (*core.Pattern, error) {
		got = in
		if core.PrincipalFrom(ctx).ID != core.Anonymous.ID {
			t.Errorf("principal %+v", core.PrincipalFrom(ctx))
		}
		return somePattern("my pattern", "1.0.0"), nil
	}
	for _, c := range []struct {
		name, body, media string
		want              core.PatternInput
	}{
		{"json", `{"name":"n","version":"v","description":"d","definition":"text\n"}`, "application/json",
			core.PatternInput{Name: "n", Version: "v", Description: "d", Source: "text\n"}},
		{"charset", `{"definition":"text"}`, "application/json; charset=UTF-8", core.PatternInput{Source: "text"}},
		{"null is absent", `{"name":null,"definition":"text"}`, "application/json", core.PatternInput{Source: "text"}},
		{"x-yaml", yamlText, "application/x-yaml", core.PatternInput{Source: yamlText}},
		{"yaml", yamlText, "application/yaml", core.PatternInput{Source: yamlText}},
		{"text/yaml", yamlText, "text/yaml; charset=utf-8", core.PatternInput{Source: yamlText}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := r.do("POST", "/api/patterns", c.body, "Content-Type: "+c.media)
			p.wants(t, 201, "")
			if got != c.want {
				t.Errorf("input %+v, want %+v", got, c.want)
			}
			if l := p.header.Get("Location"); l != "/api/patterns/my%20pattern" {
				t.Errorf("Location %q", l)
			}
			if p.text != `{"name":"my pattern","version":"1.0.0","created":true}` {
				t.Errorf("body %s", p.text)
			}
		})
	}

	r.patterns.create = func(context.Context, core.PatternInput) (*core.Pattern, error) {
		return nil, core.Conflict("pattern", "n@1", "", "n 1 exists")
	}
	r.do("POST", "/api/patterns", yamlText, "Content-Type: text/yaml").wants(t, 409, core.CodeConflict)

	r.patterns.create = func(context.Context, core.PatternInput) (*core.Pattern, error) {
		return nil, core.InvalidAll("invalid pattern", []core.Problem{
			{Path: "agents.min", Line: 3, Reason: "must be at least 1"}, {Path: "name", Reason: "is required"},
		})
	}
	p := r.do("POST", "/api/patterns", yamlText, "Content-Type: text/yaml")
	p.wants(t, 400, core.CodeValidation)
	if list, _ := p.at("error", "details", "errors").([]any); len(list) != 2 {
		t.Errorf("details %v", p.at("error", "details"))
	}
}

func TestDefinitionLimit(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.MaxDefinition = 1000 })
	large := strings.Repeat("x", 1001)
	for _, path := range []string{"POST /api/patterns", "PUT /api/patterns/a", "POST /api/patterns/validate"} {
		method, path, _ := strings.Cut(path, " ")
		r.do(method, path, large, "Content-Type: text/yaml").wants(t, 413, core.CodeValidation)
		r.do(method, path, `{"definition":"`+large+`"}`).wants(t, 413, core.CodeValidation)
		r.do(method, path, `{"definition":"`+strings.Repeat("x", 200_000)+`"}`).wants(t, 413, core.CodeValidation)
		p := r.do(method, path, large[:1000], "Content-Type: text/yaml")
		if p.status >= 300 {
			t.Errorf("%s at the limit: %d %s", path, p.status, p.text)
		}
		r.do(method, path, "a: \xff", "Content-Type: text/yaml").wants(t, 400, core.CodeValidation)
	}
}

func TestUpdatePattern(t *testing.T) {
	r := newRig(t)
	r.patterns.update = func(name string, in core.PatternInput) (core.PatternUpdate, error) {
		return core.PatternUpdate{Pattern: somePattern(name, "2.0.0"), Created: true, PreviousVersion: "1.0.0"}, nil
	}
	p := r.do("PUT", "/api/patterns/a", `{"name":"a","version":"2.0.0","definition":"x"}`)
	p.wants(t, 201, "")
	if p.text != `{"name":"a","version":"2.0.0","created":true,"previousVersion":"1.0.0"}` {
		t.Errorf("body %s", p.text)
	}
	if p.header.Get("Location") != "/api/patterns/a" {
		t.Errorf("Location %q", p.header.Get("Location"))
	}
	r.patterns.update = nil
	p = r.do("PUT", "/api/patterns/a", yamlText, "Content-Type: application/x-yaml")
	p.wants(t, 200, "")
	if p.text != `{"name":"a","version":"1.0.0","created":false,"updated":true}` {
		t.Errorf("body %s", p.text)
	}
	p = r.do("PUT", "/api/patterns/a", `{"name":"b","definition":"x"}`)
	p.wants(t, 400, core.CodeValidation)
	if p.at("error", "details", "field") != "name" {
		t.Errorf("details %v", p.at("error", "details"))
	}
}

func TestDeletePattern(t *testing.T) {
	r := newRig(t)
	var asked string
	r.patterns.remove = func(name, version string) (int, error) { asked = name + "@" + version; return 3, nil }
	p := r.do("DELETE", "/api/patterns/a", "")
	p.wants(t, 200, "")
	if p.text != `{"deleted":true,"versionsRemoved":3}` || asked != "a@" {
		t.Errorf("body %s, asked %s", p.text, asked)
	}
	r.do("DELETE", "/api/patterns/a?version=1.0.0", "").wants(t, 200, "")
	if asked != "a@1.0.0" {
		t.Errorf("asked %s", asked)
	}
}

func TestValidatePattern(t *testing.T) {
	r := newRig(t)
	p := r.do("POST", "/api/patterns/validate", `{"definition":"x"}`)
	p.wants(t, 200, "")
	if p.text != `{"valid":true,"problems":[],"definition":{"name":"p"}}` {
		t.Errorf("body %s", p.text)
	}
	r.patterns.check = func(source string) []core.Problem {
		return []core.Problem{{Path: source, Line: 2, Reason: "is wrong"}}
	}
	p = r.do("POST", "/api/patterns/validate", "y", "Content-Type: application/x-yaml")
	p.wants(t, 200, "")
	if p.text != `{"valid":false,"problems":[{"path":"y","line":2,"reason":"is wrong"}]}` {
		t.Errorf("body %s", p.text)
	}
}

// Names that try to leave their segment are passed on as they are, or refused; they never reach another
// route.
func TestHostileNames(t *testing.T) {
	r := newRig(t)
	var asked string
	r.patterns.find = func(n, _ string) (*core.Pattern, error) { asked = n; return somePattern(n, "1"), nil }
	for _, name := range []string{
		"a/b", "../../etc/passwd", "a%2Fb", "a+b c", "ünïcödé-漢字-🙂", "%", "a?b#c", ":name", "*", "validate",
		strings.Repeat("n", 256), `"quoted"`, "back\\slash", "<script>", ".", "..", "a;b", "execute",
	} {
		asked = ""
		p := r.do("GET", "/api/patterns/"+strings.ReplaceAll(url.PathEscape(name), ".", "%2E"), "")
		if p.status != 200 || asked != name || p.at("name") != name {
			t.Errorf("%q: %d, asked for %q: %s", name, p.status, asked, p.text)
		}
	}
	for _, name := range []string{
		"a%00b", "%ff%fe", "line%0Abreak", strings.Repeat("n", 257), strings.Repeat("n", 10_000), "%7F",
	} {
		p := r.do("GET", "/api/patterns/"+name, "")
		p.wants(t, 400, core.CodeValidation)
		if len(p.text) > 2000 {
			t.Errorf("%q is echoed at length", name[:20])
		}
	}
}

// A range is promised where a version is looked for, and not where one is removed: that takes the exact text.
func TestPatternVersionsInDocument(t *testing.T) {
	paths, _ := document(t, newRig(t))["paths"].(map[string]any)
	for method, ranges := range map[string]bool{"get": true, "delete": false} {
		operation := reply{json: paths}.at("/api/patterns/{name}", method, "parameters")
		text, _ := json.Marshal(operation)
		if !strings.Contains(string(text), "Exact version") || strings.Contains(string(text), "or a range such as 1.x") != ranges {
			t.Errorf("parameters of %s: %s", method, text)
		}
	}
}
