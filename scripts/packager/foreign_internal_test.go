package main

import (
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/pluginhost"
)

// Packages for another architecture alone hold the programs for that one, described by those for this machine. A plugin that
// does not describe itself fails the build: no manifest would vouch for it.
func TestForeignArchitecture(t *testing.T) {
	foreign, machine := "arm64", elf.EM_AARCH64
	if runtime.GOARCH == foreign {
		foreign, machine = "amd64", elf.EM_X86_64
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                "module packaged\n\ngo 1.24\n",
		"plugins/sink/main.go":  "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"sink 1.0.0 (audit plugin, protocol 1)\\n\") }\n",
		"plugins/other/main.go": "package main\n\nfunc main() {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := &builder{
		options: options{root: root, version: "1.0.0", arches: []string{foreign}, only: []string{"wardroom-sink", "wardroom-other"}},
		stage:   t.TempDir(), plugins: []string{"other", "sink"},
	}
	if err := b.build(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	text, err := b.manifest(t.Context(), foreign, []string{"sink"})
	if err != nil {
		t.Fatal(err)
	}
	var m pluginhost.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(b.binaries(foreign), "sink")
	sum, err := sumFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Plugins) != 1 || m.Plugins[0].Name != "sink" || m.Plugins[0].SHA256 != sum {
		t.Errorf("the manifest is %s, the program has %s", text, sum)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if f.Machine != machine {
		t.Errorf("the program is for %s", f.Machine)
	}
	_, err = b.manifest(t.Context(), foreign, []string{"sink", "other"})
	if err == nil || !strings.Contains(err.Error(), "the plugin other does not describe itself") {
		t.Errorf("of a plugin that says nothing: %v", err)
	}
}
