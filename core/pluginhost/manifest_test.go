package pluginhost_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pluginhost"
)

var sum = strings.Repeat("ab", 32)

func TestParseManifest(t *testing.T) {
	const one = `{"name":"runtime-pen","kind":"runtime","version":"1.0.0","sha256":"SUM","protocol":1}`
	entry := func(change ...string) string {
		return `{"format":1,"plugins":[` + strings.NewReplacer(append(change, "SUM", sum)...).Replace(one) + `]}`
	}
	for _, tt := range []struct{ name, text, want string }{ // want: the problem; empty: it is good
		{"Good", entry(), ""},
		{"NoPlugins", `{"format":1,"plugins":[]}`, ""},
		{"NotJSON", `plugins: []`, "is not a manifest of plugins"},
		{"List", `[]`, "is not a manifest of plugins"},
		{"MoreText", entry() + `{}`, "has text after its end"},
		{"UnknownField", `{"format":1,"plugins":[],"run":"/bin/sh"}`, "unknown field"},
		{"OtherFormat", `{"format":2,"plugins":[]}`, "of another release"},
		{"NoFormat", `{"plugins":[]}`, "of another release"},
		{"Traversal", entry("runtime-pen", "../../bin/sh"), "plugins[0].name"},
		{"NoName", entry("runtime-pen", ""), "plugins[0].name"},
		{"Kind", entry(`"runtime"`, `"root"`), "plugins[0].kind"},
		{"Version", entry("1.0.0", `1\u0007`), "plugins[0].version"},
		{"Sum", entry("SUM", "abc"), "plugins[0].sha256"},
		{"UpperSum", entry("SUM", strings.ToUpper(sum)), "plugins[0].sha256"},
		{"Protocol", entry(`:1}`, `:0}`), "plugins[0].protocol"},
		{"Twice", `{"format":1,"plugins":[` + strings.ReplaceAll(one+","+one, "SUM", sum) + `]}`, "is there twice"},
		{"Large", `{"format":1,"plugins":[]}` + strings.Repeat(" ", 1<<20), "larger than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := pluginhost.ParseManifest([]byte(tt.text))
			if tt.want == "" {
				if err != nil || m == nil {
					t.Fatalf("%v", err)
				}
				return
			}
			if m != nil || core.ErrorCode(err) != core.CodeValidation {
				t.Fatalf("%+v, %v", m, err)
			}
			contains(t, core.AsError(err).Message, tt.want)
		})
	}
}

// A manifest that is a pipe is refused, without waiting for a writer.
func TestReadManifestPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, pluginhost.ManifestFile), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := pluginhost.ReadManifest(dir)
	if core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("got %v", err)
	}
}

// What was installed later never stands in for what came with the package.
func TestReadManifestOrder(t *testing.T) {
	dir := t.TempDir()
	if m, err := pluginhost.ReadManifest(dir); err != nil || len(m.Plugins) != 0 {
		t.Fatalf("of an empty directory: %+v, %v", m, err)
	}
	if err := os.Mkdir(filepath.Join(dir, pluginhost.InstalledDir), 0o755); err != nil {
		t.Fatal(err)
	}
	entry := func(name, version string) pluginhost.ManifestEntry {
		return pluginhost.ManifestEntry{Name: name, Kind: "runtime", Version: version, SHA256: sum, Protocol: 1}
	}
	for file, entries := range map[string][]pluginhost.ManifestEntry{
		pluginhost.ManifestFile:         {entry("runtime-pen", "1")},
		"manifest.d/runtime-pen.json":   {entry("runtime-pen", "2")},
		"manifest.d/runtime-quill.json": {entry("runtime-quill", "3")},
		"manifest.d/.hidden.json":       {entry("runtime-hidden", "4")},
		"manifest.d/old.json.rpmsave":   {entry("runtime-old", "5")},
	} {
		m := pluginhost.Manifest{Format: 1, Plugins: entries}
		if err := os.WriteFile(filepath.Join(dir, file), m.Encode(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := pluginhost.ReadManifest(dir)
	if err != nil || len(m.Plugins) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	if e, _ := m.Lookup("runtime-pen"); e.Version != "1" {
		t.Errorf("the installed one won: %+v", e)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.d/bad.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := pluginhost.ReadManifest(dir); err == nil || !strings.Contains(err.Error(), "bad.json") {
		t.Errorf("a damaged one: %v", err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"format":1,"plugins":[{"name":"runtime-pen","kind":"runtime","version":"1.0.0","sha256":"` + sum + `","protocol":1}]}`))
	f.Add([]byte(`{"format":1,"plugins":null}`))
	f.Add([]byte(`{"format":1,"plugins":[{"name":"../x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := pluginhost.ParseManifest(data)
		if err != nil {
			if m != nil || core.ErrorCode(err) != core.CodeValidation {
				t.Fatalf("%v, %v", m, err)
			}
			return
		}
		text := m.Encode()
		again, err := pluginhost.ParseManifest(text)
		if err != nil || !bytes.Equal(again.Encode(), text) {
			t.Fatalf("what was written reads as something else: %v\n%s", err, text)
		}
	})
}
