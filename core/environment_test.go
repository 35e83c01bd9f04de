package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestCheckEnv(t *testing.T) {
	many := map[string]string{}
	for i := range core.MaxEnv {
		many[fmt.Sprintf("V%d", i)] = "x"
	}
	more := map[string]string{"ONE_MORE": ""}
	for name, value := range many {
		more[name] = value
	}
	large := strings.Repeat("x", 100<<10)
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string // path and the beginning of the reason of each problem, or ""
	}{
		{"none", nil, ""},
		{"plain", map[string]string{"_A1": "x=y\n", "b": ""}, ""},
		{"as many as may be", many, ""},
		{"one more", more, "env: must be at most 512 variables, not 513"},
		{"names", map[string]string{"": "secret", "1A": "secret", "A-B": "secret", "A=B": "secret"},
			`env: "" is not the name; env: "1A" is not the name; env: "A-B" is not the name; env: "A=B" is not the name`},
		{"a long name", map[string]string{strings.Repeat("-", 1000): "secret"}, `env: "` + strings.Repeat("-", 64) + `" is not the name`},
		{"reserved", map[string]string{"HOME": "secret", "LD_PRELOAD": "secret", "TMPDIR": "secret", "WARDROOM_AGENT_ID": "secret", "HOMES": "x"},
			"env.HOME: every agent has; env.LD_PRELOAD: variables of the dynamic loader; env.TMPDIR: every agent has; env.WARDROOM_AGENT_ID: names that begin"},
		{"NUL", map[string]string{"A": "secret\x00"}, "env.A: must not hold NUL"},
		{"the longest value", map[string]string{"A": strings.Repeat("x", 128<<10-3)}, ""},
		{"a longer value", map[string]string{"A": strings.Repeat("x", 128<<10-2)}, "env.A: must be at most 131070 bytes with its name"},
		{"too much in all", map[string]string{"A": large, "B": large, "C": large}, "env: must be at most 262144 bytes in all, not 307203"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			problems := core.CheckEnv("env", tt.env)
			want := strings.Split(tt.want, "; ")
			if tt.want == "" {
				want = nil
			}
			if len(problems) != len(want) {
				t.Fatalf("problems %v, want %q", problems, want)
			}
			for i, p := range problems {
				if got := p.Path + ": " + p.Reason; !strings.HasPrefix(got, want[i]) || strings.Contains(got, "secret") {
					t.Errorf("problem %d: %s, want %s", i, got, want[i])
				}
			}
		})
	}
}
