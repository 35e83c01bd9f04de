package cmd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAlertRules has promtool check the shipped alerts and run their tests.
func TestAlertRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		promtool, err = filepath.Abs(filepath.Join(root, ".cache/bin/promtool"))
		if _, missing := os.Stat(promtool); err != nil || missing != nil {
			if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
				t.Fatal("promtool is not there: it is in Debian's package prometheus")
			}
			t.Skip("promtool is not there: it is in Debian's package prometheus")
		}
	}
	for _, args := range [][]string{{"check", "rules", "wardroom.yml"}, {"test", "rules", "wardroom.test.yaml"}} {
		tool := exec.CommandContext(t.Context(), promtool, args...)
		tool.Dir = filepath.Join(root, "configs/alerts")
		if out, err := tool.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestDashboard reads the shipped dashboard as Grafana would: every panel asks for something.
func TestDashboard(t *testing.T) {
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readDoc(t, "configs/dashboards/wardroom.json")), &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		if p.Title == "" || len(p.Targets) == 0 || p.Targets[0].Expr == "" {
			t.Errorf("a panel without a title or a question: %+v", p)
		}
	}
	if len(d.Panels) < 10 {
		t.Errorf("%d panels", len(d.Panels))
	}
}
