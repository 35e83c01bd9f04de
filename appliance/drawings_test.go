package appliance_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// A pattern that is stored and one that is not are drawn alike, whatever stands in them.
func TestDrawings(t *testing.T) {
	a := open(t, devOptions(t.TempDir()))
	api := connect(t, a)
	team, err := os.ReadFile("../configs/patterns/startup-team.yaml")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := api.GetPatternDrawing(t.Context(), "startup-team", "")
	if err != nil || len(stored.Roles) == 0 || len(stored.Steps) < 3 {
		t.Fatalf("%+v, %v", stored, err)
	}
	draft, err := api.DrawPattern(t.Context(), string(team))
	if err != nil || len(draft.Steps) != len(stored.Steps) || draft.Steps[0].Text != stored.Steps[0].Text {
		t.Errorf("%+v, %v", draft, err)
	}
	hostile := strings.Replace(string(team), "name: Build", `name: "<script>alert(1)</script>"`, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Addr()+"/api/patterns/drawing?format=svg", strings.NewReader(hostile))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/yaml")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.HasPrefix(string(picture), "<svg") || strings.Contains(string(picture), "<script") {
		t.Errorf("%d %v %.200s", resp.StatusCode, err, picture)
	}
	if _, err = api.DrawPattern(t.Context(), "name: x\n"); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("a definition with problems: %v", err)
	}
	var many strings.Builder
	many.WriteString("name: many\nversion: 1.0.0\nstructure: {name: s, roles: {a: {capabilities: [x]}}}\nworkflow:\n  name: w\n  steps:\n")
	for range 2001 {
		many.WriteString("    - {type: assign, role: a, task: work}\n")
	}
	if _, err = api.DrawPattern(t.Context(), many.String()); err == nil || !strings.Contains(err.Error(), "at most 2000 are drawn") {
		t.Errorf("a workflow of 2001 steps: %v", err)
	}
}
