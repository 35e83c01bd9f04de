package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core/pluginhost"
)

// program copies this test's own binary, which is as good a Go program as any.
func program(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// answering runs a command with its standard input.
func answering(t *testing.T, input string, args ...string) *run {
	t.Helper()
	r := start(t.Context(), "", cmd.Deps{Stdin: strings.NewReader(input)}, args...)
	<-r.done
	return r
}

func TestPluginInstall(t *testing.T) {
	file, dir := program(t, "runtime-pen"), t.TempDir()
	r := answering(t, "no\n", "plugin", "install", file, "--dir", dir)
	r.expect(t, 1)
	for _, want := range []string{"plugin:     runtime-pen", "kind:       runtime", "no manifest vouches for it", "signed by:  not checked: plugins.trustedKeys names no keys", "into:       " + dir, "Install it?", "nothing was installed"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("stderr %q lacks %q", r.stderr.String(), want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	r = answering(t, "y\n", "plugin", "install", file, "--dir", dir, "--plugin-version", "1.0.0")
	r.expect(t, 0)
	if !strings.Contains(r.stdout.String(), "installed runtime-pen 1.0.0 in "+dir) || !strings.Contains(r.stdout.String(), "plugin enable runtime-pen") {
		t.Errorf("stdout %q", r.stdout.String())
	}
	m, err := pluginhost.ReadManifest(dir)
	if err != nil || len(m.Plugins) != 1 {
		t.Fatalf("manifest %+v, %v", m, err)
	}

	r = execute(t, "", "plugin", "install", file, "--dir", dir, "--plugin-version", "1.1.0", "--yes", "-o", "json")
	r.expect(t, 0)
	var answer map[string]any
	if err := json.Unmarshal([]byte(r.stdout.String()), &answer); err != nil {
		t.Fatal(err)
	}
	if answer["name"] != "runtime-pen" || answer["version"] != "1.1.0" || answer["replaced"] != "1.0.0" || answer["sha256"] != m.Plugins[0].SHA256 {
		t.Errorf("answer %v", answer)
	}
}

func TestPluginInstallRefuses(t *testing.T) {
	file, dir := program(t, "pen"), t.TempDir()
	writable := filepath.Join(t.TempDir(), "plugins")
	if err := os.Mkdir(writable, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(writable, 0o777); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(config, []byte("plugins: {dir: "+dir+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"UnknownKind", []string{file, "--dir", dir}, 2, "kind: cannot be told from the name"},
		{"WrongSum", []string{file, "--dir", dir, "--kind", "runtime", "--sha256", strings.Repeat("0", 64)}, 2, "not the one that was expected"},
		{"BadName", []string{file, "--dir", dir, "--kind", "runtime", "--name", "../pen"}, 2, "is not a name"},
		{"NoFile", []string{file + "x", "--dir", dir}, 2, "no such file or directory"},
		{"WritableDir", []string{file, "--dir", writable, "--kind", "runtime"}, 5, "is writable by everyone"},
		{"DirAndConfig", []string{file, "--dir", dir, "--config", config}, 2, "exclude each other"},
		{"BadConfig", []string{file, "--config", config + "x"}, 3, "does not exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := execute(t, "", append([]string{"plugin", "install", "--yes"}, tt.args...)...)
			r.expect(t, tt.code)
			if !strings.Contains(r.stderr.String(), tt.want) {
				t.Errorf("stderr %q lacks %q", r.stderr.String(), tt.want)
			}
		})
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	execute(t, "", "plugin", "install", "--yes", file, "--config", config, "--kind", "runtime").expect(t, 0)
	execute(t, "", "plugin", "install", "--yes", file, "--dir", writable, "--kind", "runtime", "--unsafe-dir").expect(t, 0)
}

func TestPluginManifest(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"runtime-pen 1.2.3 (runtime plugin, protocol 1)\"\n"
	if err := os.WriteFile(filepath.Join(dir, "runtime-pen"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "holder"), []byte("#!/bin/sh\nexit 2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := execute(t, "", "plugin", "manifest", dir)
	r.expect(t, 0)
	if !strings.Contains(r.stdout.String(), "runtime-pen  runtime  1.2.3") || r.stderr.String() != "" {
		t.Errorf("stdout %q, stderr %q", r.stdout.String(), r.stderr.String())
	}
	m, err := pluginhost.ReadManifest(dir)
	if err != nil || len(m.Plugins) != 1 || m.Plugins[0].Version != "1.2.3" {
		t.Errorf("manifest %+v, %v", m, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runtime-broken"), []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r = execute(t, "", "plugin", "manifest", dir)
	r.expect(t, 1)
	if !strings.Contains(r.stderr.String(), `left out runtime-broken: it is no plugin: with -version it prints "hello"`) {
		t.Errorf("stderr %q", r.stderr.String())
	}
	execute(t, "", "plugin", "manifest", filepath.Join(dir, "none")).expect(t, 2)
}

// A package of several files is written, and installed as it is.
func TestPluginManifestOfPackage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"runtime-pen": "#!/bin/sh\necho \"runtime-pen 1.2.3 (runtime plugin, protocol 1)\"\n", "holder": "#!/bin/sh\ntouch \"$0.ran\"\n", "prices.json": "{}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := execute(t, "", "plugin", "manifest", dir, "--file", "prices.json", "--file", "holder")
	r.expect(t, 0)
	if r.stderr.String() != "" {
		t.Errorf("stderr %q", r.stderr.String())
	}
	m, err := pluginhost.ReadManifest(dir)
	if err != nil || len(m.Plugins) != 1 || len(m.Plugins[0].Files) != 2 || m.Plugins[0].Files[0].Name != "holder" || len(m.Plugins[0].Files[1].SHA256) != 64 {
		t.Fatalf("manifest %+v, %v", m, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "holder.ran")); err == nil {
		t.Error("a file that comes with the plugin was run")
	}
	for _, bad := range []string{"../holder", "none", ".", "holder/x"} {
		execute(t, "", "plugin", "manifest", dir, "--file", bad).expect(t, 2)
	}
	execute(t, "", "plugin", "manifest", dir, "--file", "holder", "--file", "holder").expect(t, 2)
	execute(t, "", "plugin", "manifest", dir, "--file", "runtime-pen").expect(t, 2) // then there is no plugin
}

// A key is made, a binary signed, installed where only signed ones are taken, upgraded, and taken back.
func TestPluginSignAndRollback(t *testing.T) {
	file, dir := program(t, "runtime-pen"), filepath.Join(t.TempDir(), "new", "plugins")
	secret := filepath.Join(t.TempDir(), "key")
	r := execute(t, "", "plugin", "keygen", secret, "-o", "json")
	r.expect(t, 0)
	var key struct{ SecretKey, PublicKey string }
	if err := json.Unmarshal([]byte(r.stdout.String()), &key); err != nil || key.SecretKey != secret {
		t.Fatalf("%q, %v", r.stdout.String(), err)
	}
	execute(t, "", "plugin", "keygen", secret).expect(t, 4)
	config := filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(config, []byte("plugins: {dir: "+dir+", trustedKeys: ["+key.PublicKey+"]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = execute(t, "", "plugin", "install", file, "--config", config, "--yes")
	r.expect(t, 2)
	if !strings.Contains(r.stderr.String(), "there is no file "+file+".minisig") {
		t.Errorf("stderr %q", r.stderr.String())
	}
	execute(t, "", "plugin", "sign", file).expect(t, 2)
	r = execute(t, "", "plugin", "sign", file, "--key", secret)
	r.expect(t, 0)
	if !strings.Contains(r.stdout.String(), file+".minisig") || !strings.Contains(r.stdout.String(), key.PublicKey) {
		t.Errorf("stdout %q", r.stdout.String())
	}
	for _, version := range []string{"2.0.0", "1.9.0"} {
		r = execute(t, "", "plugin", "install", file, "--config", config, "--yes", "--plugin-version", version)
		r.expect(t, 0)
	}
	if !strings.Contains(r.stderr.String(), "warning: 1.9.0 is older than the installed 2.0.0") || !strings.Contains(r.stdout.String(), "plugin rollback runtime-pen") {
		t.Errorf("stdout %q, stderr %q", r.stdout.String(), r.stderr.String())
	}
	r = execute(t, "", "plugin", "rollback", "runtime-pen", "--config", config)
	r.expect(t, 0)
	if !strings.Contains(r.stdout.String(), "runtime-pen 2.0.0 is back in "+dir+", in place of 1.9.0") {
		t.Errorf("stdout %q", r.stdout.String())
	}
	m, err := pluginhost.ReadManifest(dir)
	if err != nil || len(m.Plugins) != 1 || m.Plugins[0].Version != "2.0.0" || m.Plugins[0].SignedBy != key.PublicKey {
		t.Errorf("manifest %+v, %v", m, err)
	}
	execute(t, "", "plugin", "rollback", "runtime-quill", "--config", config).expect(t, 3)
}
