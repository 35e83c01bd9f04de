package trigger

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const pushed = `{"ref":"refs/heads/main","repository":{"full_name":"acme/app","id":12345678901234567890},"commits":[{"id":"a1"},{"id":"b2"}],"nothing":null,"":{"x":1}}`

func TestPaths(t *testing.T) {
	body, err := decode([]byte(pushed))
	if err != nil {
		t.Fatal(err)
	}
	header := func(name string) string { return map[string]string{"X-Github-Event": "push"}[name] }
	for text, want := range map[string]string{
		"$.ref": `"refs/heads/main"`, "ref": `"refs/heads/main"`, "repository.full_name": `"acme/app"`, "$.repository.id": `12345678901234567890`,
		"commits[1].id": `"b2"`, "$.commits[0]": `{"id":"a1"}`, "nothing": `null`, "header:X-Github-Event": `"push"`,
		"commits[2]": "", "ref.deeper": "", "missing": "", "ref[0]": "", "commits.id": "", "header:X-Other": "",
	} {
		p, err := parsePath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		value, ok := p.find(body, header)
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if ok != (want != "") || ok && string(raw) != want {
			t.Errorf("%s: %s, want %s", text, raw, want)
		}
	}
	whole, err := parsePath("$")
	if value, ok := whole.find(body, header); err != nil || !ok || len(value.(map[string]any)) != 5 {
		t.Errorf("%v, %v", value, err)
	}
	for _, bad := range []string{
		"", "$.", "a..b", "a[", "a[x]", "a[-1]", "a[1", "[1]]", "a]b", "a[99999999999]", strings.Repeat("a.", 20) + "a", strings.Repeat("a", 300),
		"header:", "header:X Y", "header:Authorization", "header:x-gitlab-token", "header:Cookie", "header:X-Hub-Signature-256", "header:X-Hub-Signature", "header:X-Service-Signature",
	} {
		if _, err := parsePath(bad); err == nil {
			t.Errorf("%q was taken for a path", bad)
		}
	}
}

func TestBodies(t *testing.T) {
	for _, bad := range []string{
		"", "null", "[]", "1", `"x"`, `{`, `{"a":1}{"b":2}`, `{"a":1} x`, `{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, "{\"a\":\"\x01\"}", "\xff",
	} {
		if _, err := decode([]byte(bad)); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := decode([]byte(` {"a":"[[[{{{\"[[","b":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `} `)); err != nil {
		t.Error(err)
	}
}

// What the operator fixed nobody else sets.
func TestInput(t *testing.T) {
	none := func(string) string { return "" }
	own := func(mapping map[string]string, base string) *core.Trigger {
		return &core.Trigger{Mapping: mapping, Target: core.Target{Execution: &core.ExecutionTarget{Input: []byte(base)}}}
	}
	for name, tt := range map[string]struct {
		trigger *core.Trigger
		want    string
	}{
		"Whole":  {own(nil, ""), `{"mode":"evil","n":1}`},
		"Fixed":  {own(nil, `{"mode":"safe"}`), `{"mode":"safe","n":1}`},
		"Mapped": {own(map[string]string{"number": "$.n", "gone": "x.y"}, `{"mode":"safe"}`), `{"mode":"safe","number":1}`},
	} {
		body, err := decode([]byte(`{"mode":"evil","n":1}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := input(tt.trigger, body, none); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, tt.want)
		}
	}
	thread := &core.Trigger{Mapping: map[string]string{"objective": "issue.title"}, Target: core.Target{Thread: &core.ThreadTarget{ThreadBrief: wire.ThreadBrief{Objective: "Triage:"}}}}
	body := map[string]any{"issue": map[string]any{"title": "it burns"}}
	if got := objective(thread, body, none); got != "Triage:\n\nit burns" {
		t.Errorf("%q", got)
	}
	if got := objective(thread, map[string]any{}, none); got != "Triage:" {
		t.Errorf("%q", got)
	}
}

func FuzzMapping(f *testing.F) {
	f.Add("$.a[0].b", pushed)
	f.Add("header:X", "{}")
	f.Add("[", "[")
	f.Fuzz(func(t *testing.T, text, body string) {
		p, err := parsePath(text)
		value, bad := decode([]byte(body))
		if err != nil || bad != nil {
			return
		}
		found, ok := p.find(value, func(string) string { return "" })
		if _, err := json.Marshal(found); ok && err != nil {
			t.Errorf("%q of %q: %v", text, body, err)
		}
	})
}
