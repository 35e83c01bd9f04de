package clis_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/clis"
)

// npm stands in for the real one: it makes the files that matter, and counts how often it was called.
const npm = `#!/bin/sh
echo "$@" >>"$CALLS"
[ -z "$BROKEN" ] || { echo "no network" >&2; exit 1; }
modules="$3/node_modules"
for file in "$modules/@anthropic-ai/claude-code-linux-x64/claude" \
	"$modules/@openai/codex-linux-x64/vendor/triple/bin/codex" "$modules/.bin/gemini"; do
	mkdir -p "$(dirname "$file")"
	echo '#!/bin/sh' >"$file"
	chmod +x "$file"
done
`

// node stands in for the real one, and has the version in NODE.
const node = `#!/bin/sh
case "$1" in
-p) echo "$NODE" ;;
*) echo "v$NODE.0.0" ;;
esac
`

type installer struct {
	t     *testing.T
	path  string
	calls string
}

func newInstaller(t *testing.T) *installer {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	i := &installer{t: t, path: realDir(t), calls: filepath.Join(t.TempDir(), "calls")}
	for name, text := range map[string]string{"npm": npm, "node": node} {
		if err := os.WriteFile(filepath.Join(i.path, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

func (i *installer) run(env string, args ...string) (string, error) {
	i.t.Helper()
	cmd := exec.Command("bash", append([]string{"install.sh"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+i.path+":"+os.Getenv("PATH"), "CALLS="+i.calls, "NODE=20", env)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

func (i *installer) called() int {
	data, _ := os.ReadFile(i.calls) // not there before the first call
	return strings.Count(string(data), "\n")
}

func TestInstall(t *testing.T) {
	i := newInstaller(t)
	dir := filepath.Join(realDir(t), "with space", "clis")
	for range 2 {
		output, err := i.run("", dir)
		want := "claude " + dir + "/bin/claude\ncodex " + dir + "/bin/codex\ngemini " + dir + "/bin/gemini\n"
		if err != nil || output != want {
			t.Fatalf("prints %q, %v, want %q", output, err, want)
		}
	}
	if n := i.called(); n != 1 {
		t.Errorf("npm was called %d times; a second installation has nothing to do", n)
	}
	for _, name := range clis.Names() {
		if _, ok := clis.In(dir, name); !ok {
			t.Errorf("%s is not found where install.sh put it", name)
		}
	}

	// What is damaged is made again.
	if err := os.RemoveAll(filepath.Join(dir, "node_modules", "@openai")); err != nil {
		t.Fatal(err)
	}
	if output, err := i.run("", dir); err != nil || i.called() != 2 {
		t.Errorf("a damaged installation: %q, %v, %d calls of npm", output, err, i.called())
	}
}

func TestInstallRefusals(t *testing.T) {
	i := newInstaller(t)
	dir := filepath.Join(realDir(t), "clis")
	for _, tt := range []struct {
		name, env string
		args      []string
		want      string
	}{
		{"no folder", "", nil, "one argument is needed: the folder to install into"},
		{"old node", "NODE=18", []string{dir}, "is too old for gemini; install Node.js 20 or later"},
		{"broken npm", "BROKEN=1", []string{dir}, "no network\ninstall.sh: npm ci failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if output, err := i.run(tt.env, tt.args...); err == nil || !strings.Contains(output, tt.want) {
				t.Errorf("prints %q, %v, want %q", output, err, tt.want)
			}
		})
	}
	if output, err := i.run("", dir); err != nil {
		t.Errorf("after a failed installation: %q, %v", output, err)
	}
}

// The versions are pinned: package.json names no ranges.
func TestVersionsArePinned(t *testing.T) {
	data, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(data), "^~*<>") {
		t.Errorf("package.json has a range of versions: %s", data)
	}
}
