package pattern_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

func TestStepDefaults(t *testing.T) {
	base := core.Step{
		Min: 1, Max: 1, MinResults: 1, TaskTimeout: 30 * time.Second, Strategy: core.StepParallel, WaitForAll: true,
		OnInvalid: core.OnInvalidFail,
	}
	with := func(change func(*core.Step)) core.Step {
		s := base
		change(&s)
		return s
	}
	for _, tc := range []struct {
		tail string
		want core.Step
	}{
		{"agents: {}", base},
		{"agents: {min: 3}", with(func(s *core.Step) { s.Min, s.Max, s.MinResults = 3, 3, 3 })},
		{"agents: {max: 4}", with(func(s *core.Step) { s.Max = 4 })},
		{"agents: {min: 2, max: 4}\nexecution: {minResults: 3}", with(func(s *core.Step) {
			s.Min, s.Max, s.MinResults, s.WaitForAll = 2, 4, 3, false
		})},
		{"agents: {min: 2, max: 4}\nexecution: {minResults: 3, waitForAll: true}", with(func(s *core.Step) {
			s.Min, s.Max, s.MinResults = 2, 4, 3
		})},
		{"agents: {max: 4}\nexecution: {waitForAll: false}", with(func(s *core.Step) { s.Max, s.WaitForAll = 4, false })},
		{"agents: {max: 3}\nexecution: {strategy: race}", with(func(s *core.Step) {
			s.Max, s.Strategy, s.WaitForAll = 3, core.StepRace, false
		})},
		{"agents: {min: 2}\nexecution: {strategy: sequential}", with(func(s *core.Step) {
			s.Min, s.Max, s.MinResults, s.Strategy = 2, 2, 2, core.StepSequential
		})},
		{"agents: {}\nvalidation: {minConfidence: 0.5}", with(func(s *core.Step) { s.MinConfidence = 0.5 })},
		{"agents: {}\nvalidation: {minConfidence: 1, onFailure: retry}", with(func(s *core.Step) {
			s.MinConfidence, s.OnInvalid, s.MaxRetries = 1, core.OnInvalidRetry, 1
		})},
		{"agents: {}\nvalidation: {minConfidence: 1, onFailure: retry, maxRetries: 5}", with(func(s *core.Step) {
			s.MinConfidence, s.OnInvalid, s.MaxRetries = 1, core.OnInvalidRetry, 5
		})},
		{"agents: {}\nvalidation: {minConfidence: 1, onFailure: fallback, fallback: null}", with(func(s *core.Step) {
			s.MinConfidence, s.OnInvalid, s.Fallback = 1, core.OnInvalidFallback, []byte("null")
		})},
	} {
		t.Run(tc.tail, func(t *testing.T) {
			d := mustParse(t, "name: p\nversion: 1.0.0\n"+tc.tail).Definition()
			got := d.Steps[0]
			if len(got.Need.Capabilities) == 0 {
				got.Need.Capabilities = nil
			}
			if len(d.Steps) != 1 || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	for _, tc := range []struct{ source, name, version string }{
		{"name: a\nversion: 1.0\nagents: {}", "a", "1.0"},
		{"name: a\nversion: 1\nagents: {}", "a", "1"},
		{"name: a\nversion: 2026-01-02\nagents: {}", "a", "2026-01-02"},
		{`{"name":"a.b_c-1","version":"v1","agents":{}}`, "a.b_c-1", "v1"},
		{"\ufeffname: a\r\nversion: 1.0.0\r\nagents: {}\r\n", "a", "1.0.0"},
		{"name: on\nversion: nightly\nagents: {}", "on", "nightly"},
		{"name: " + strings.Repeat("a", 128) + "\nversion: " + strings.Repeat("1", 64) + "\nagents: {}", strings.Repeat("a", 128), strings.Repeat("1", 64)},
	} {
		d := mustParse(t, tc.source).Definition()
		if d.Name != tc.name || d.Version != tc.version {
			t.Errorf("%q is %q %q", tc.source, d.Name, d.Version)
		}
	}
	for _, name := range []string{"", "a/b", "../x", "a b", "é", ".a", "-a", strings.Repeat("a", 129), "a\x00b", "1"} {
		_, problems := pattern.Parse(fmt.Sprintf("name: %q\nversion: 1.0.0\nagents: {}", name))
		if name == "1" {
			if len(problems) != 0 {
				t.Errorf("%q: %v", name, problems)
			}
			continue
		}
		if len(problems) == 0 {
			t.Errorf("the name %q is accepted", name)
		}
	}
}

func TestDefinitionJSON(t *testing.T) {
	for tail, want := range map[string]string{
		"input: {a: string, additional: false}":   `{"agents":{"capabilities":["c"],"min":3},"input":{"a":{"type":"string","required":false},"additional":false}}`,
		"input: {additional: string}":             `{"agents":{"capabilities":["c"],"min":3},"input":{"additional":{"type":"string","required":false}}}`,
		"input: {a: string, b: {required: true}}": `{"agents":{"capabilities":["c"],"min":3},"input":{"a":{"type":"string","required":false},"b":{"type":"any","required":true}}}`,
		"config: {d: 2026-01-02, e: 0x1F, f: 1_0, g: +1, h: .5, i: 1e3, j: yes, k: ~, l: '5', m: -0o7}": `{"agents":{"capabilities":["c"],"min":3},` +
			`"config":{"d":"2026-01-02","e":31,"f":10,"g":1,"h":0.5,"i":1e3,"j":"yes","k":null,"l":"5","m":-7}}`,
		"config: {a: &x {b: 1, c: 2}, d: {<<: *x, c: 3}, e: {<<: [*x, {f: 4, b: 9}]}}": `{"agents":{"capabilities":["c"],"min":3},` +
			`"config":{"a":{"b":1,"c":2},"d":{"c":3,"b":1},"e":{"b":1,"c":2,"f":4}}}`,
	} {
		full, ok := mustParse(t, flat("description: not shown\n"+tail)).(*pattern.Plan)
		if !ok {
			t.Fatal("not a *pattern.Plan")
		}
		if got := string(full.JSON()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestAccess(t *testing.T) {
	full := mustParse(t, flat("security: {allowedUsers: [ann, bob], allowedRoles: [operator]}")).(*pattern.Plan)
	want := pattern.Access{Users: []string{"ann", "bob"}, Roles: []string{"operator"}}
	if got := full.Access(); !reflect.DeepEqual(got, want) {
		t.Errorf("access %+v", got)
	}
	if got := mustParse(t, flat("")).(*pattern.Plan).Access(); got.Users != nil || got.Roles != nil {
		t.Errorf("access %+v", got)
	}
}

// TestProblemsAreSorted: a reader works through them from the top of the text.
func TestProblemsAreSorted(t *testing.T) {
	for path, source := range sources(t, "bad") {
		_, problems := pattern.Parse(source)
		for i := 1; i < len(problems); i++ {
			if problems[i].Line < problems[i-1].Line {
				t.Errorf("%s: %v comes before %v", path, problems[i-1], problems[i])
			}
		}
	}
}
