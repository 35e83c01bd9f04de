package pattern_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with the file beside the source, or writes the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs\n got:\n%s\nwant:\n%s", path, got, want)
	}
}

// sources returns the definitions of a folder of testdata.
func sources(tb testing.TB, folder string) map[string]string {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no definitions in %s: %v", folder, err)
	}
	all := make(map[string]string)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		all[path] = string(raw)
	}
	return all
}

func TestParseGood(t *testing.T) {
	for path, source := range sources(t, "good") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			plan := mustParse(t, source)
			full, ok := plan.(*pattern.Plan)
			if !ok {
				t.Fatalf("plan is a %T", plan)
			}
			parts := map[string]any{"parsed": full.Definition(), "shown": full.JSON(), "access": full.Access()}
			if plan.OrgChart() != nil {
				parts["chart"] = plan.OrgChart().Chart()
			}
			shown, err := json.MarshalIndent(parts, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".json", string(shown)+"\n")
		})
	}
}

func TestParseBad(t *testing.T) {
	for path, source := range sources(t, "bad") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			plan, problems := pattern.Parse(source)
			if plan != nil || len(problems) == 0 {
				t.Fatal("the definition was accepted")
			}
			var b strings.Builder
			for _, p := range problems {
				fmt.Fprintln(&b, p)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".problems", b.String())
		})
	}
}

func TestParseTooLong(t *testing.T) {
	source := flat("description: |\n  " + strings.Repeat("x", pattern.DefaultMaxDefinition))
	_, problems := pattern.Parse(source)
	if len(problems) != 1 || !strings.Contains(problems[0].Reason, "at most 1048576 are allowed") {
		t.Errorf("problems = %.200v", problems)
	}
}

// FuzzParse: whatever the text, Parse comes back with a plan that works or with problems that say where.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"good", "bad"} {
		for _, source := range sources(f, folder) {
			f.Add(source)
		}
	}
	f.Fuzz(func(t *testing.T, source string) {
		plan, problems := pattern.Parse(source)
		if (plan == nil) != (len(problems) > 0) {
			t.Fatalf("plan %v with problems %v", plan, problems)
		}
		for _, p := range problems {
			if p.Path == "" || p.Reason == "" || p.Line < 0 {
				t.Fatalf("problem %+v", p)
			}
		}
		if plan == nil {
			return
		}
		full := plan.(*pattern.Plan)
		if !json.Valid(full.JSON()) {
			t.Fatalf("definition is not JSON: %s", full.JSON())
		}
		exercise(t, plan)
	})
}

// exercise runs every method of a plan on some answers; results must be JSON whatever the definition.
func exercise(t *testing.T, plan core.Plan) {
	t.Helper()
	if plan.OrgChart() != nil {
		exerciseChart(t, plan)
		return
	}
	steps := plan.Definition().Steps
	if len(steps) == 0 {
		t.Fatal("no steps")
	}
	scope := core.Scope{Input: json.RawMessage(`{"text":"x"}`), Steps: map[string]core.Outcome{}}
	if checked, err := plan.CheckInput(scope.Input); err == nil {
		if !json.Valid(checked) {
			t.Fatalf("input is not JSON: %s", checked)
		}
		scope.Input = checked
	}
	for i, step := range steps {
		if step.Compose == nil && (step.Min < 1 || step.Max < step.Min || step.MinResults < step.Min || step.TaskTimeout <= 0) {
			t.Fatalf("step %+v", step)
		}
		if input, err := plan.StepInput(i, scope); err == nil && !json.Valid(input) {
			t.Fatalf("step input is not JSON: %s", input)
		}
		outcome, err := plan.Aggregate(i, answersOf(`{"label":"a","confidence":0.5}`, `{"label":"b"}`, `[1]`))
		if err != nil || !json.Valid(outcome.Result) || outcome.Confidence < 0 || outcome.Confidence > 1 {
			t.Fatalf("outcome %+v, %v", outcome, err)
		}
		scope.Steps[step.ID] = outcome
		scope.Last = &outcome
	}
	if out, err := plan.Output(scope); err == nil && !json.Valid(out) {
		t.Fatalf("output is not JSON: %s", out)
	}
}
