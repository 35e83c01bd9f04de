package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/scaffold"
)

func TestPluginNewRuntime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	r := execute(t, "", "plugin", "new", "runtime", "pen", "--dir", dir, "--sdk", root)
	r.expect(t, 0)
	for _, want := range []string{"made the module example.com/wardroom-runtime-pen in " + dir, "cd " + dir + " && go build -o runtime-pen ."} {
		if !strings.Contains(r.stdout.String(), want) {
			t.Errorf("stdout %q lacks %q", r.stdout.String(), want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "main.go")); err != nil {
		t.Error(err)
	}

	r = execute(t, "", "plugin", "new", "runtime", "pen", "--dir", dir, "--sdk", root)
	r.expect(t, 4)

	second := filepath.Join(t.TempDir(), "second")
	r = execute(t, "", "plugin", "new", "runtime", "pen", "--dir", second, "--sdk", root, "--module", "git.example.com/pen", "-o", "json")
	r.expect(t, 0)
	var answer struct {
		Plugin, Module, Directory string
		Files                     []string
	}
	if err := json.Unmarshal([]byte(r.stdout.String()), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Plugin != "runtime-pen" || answer.Module != "git.example.com/pen" || answer.Directory != second || len(answer.Files) != 6 {
		t.Errorf("answer %+v", answer)
	}
}

func TestPluginNewRefuses(t *testing.T) {
	free := filepath.Join(t.TempDir(), "free")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"runtime"}, "NAME is missing"},
		{[]string{"runtime", "Pen", "--dir", free, "--sdk", root}, "is not a name"},
		{[]string{"runtime", "pen", "--dir", free, "--sdk", free}, "no go.mod"},
		{[]string{"runtime", "pen", "--dir", free, "--sdk", root, "--module", "?"}, "is not the path"},
	} {
		r := execute(t, "", append([]string{"plugin", "new"}, tt.args...)...)
		r.expect(t, 2)
		if !strings.Contains(r.stderr.String(), tt.want) {
			t.Errorf("%v: stderr %q lacks %q", tt.args, r.stderr.String(), tt.want)
		}
	}
	if _, err := os.Stat(free); err == nil {
		t.Error("something was written")
	}
}

func TestPluginSDK(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sdk")
	r := execute(t, "", "plugin", "sdk", dir)
	if !scaffold.HasSDK() {
		r.expect(t, 2)
		if !strings.Contains(r.stderr.String(), "make build") {
			t.Errorf("stderr %q", r.stderr.String())
		}
		return // appliance/scaffold has the test that must not be skipped
	}
	r.expect(t, 0)
	if !strings.Contains(r.stdout.String(), "to "+dir) || !strings.Contains(r.stdout.String(), "--sdk "+dir) {
		t.Errorf("stdout %q", r.stdout.String())
	}
	execute(t, "", "plugin", "sdk", dir).expect(t, 0) // an upgrade
	execute(t, "", "plugin", "new", "runtime", "pen", "--dir", filepath.Join(t.TempDir(), "pen"), "--sdk", dir).expect(t, 0)
	execute(t, "", "plugin", "sdk", filepath.Dir(dir)).expect(t, 4)
	execute(t, "", "plugin", "sdk").expect(t, 2)
}
