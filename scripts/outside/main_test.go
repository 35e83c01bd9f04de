package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestTrim(t *testing.T) {
	mod := "module " + sdkModule + "\n\ngo 1.26\n\n// why\nrequire (\n\ta.example/x v1.0.0 // indirect\n\tb.example/y v2.0.0\n)\n\n" +
		"require c.example/z v0.1.0\nrequire d.example/w v0.1.0 // indirect\ntool a.example/tool\nexclude (\n\ta.example/x v0.9.0\n)\nreplace a.example/x => ../x\n"
	want := "module " + sdkModule + "\n\ngo 1.26\n\nrequire a.example/x v1.0.0\nrequire c.example/z v0.1.0\n"
	if got := string(trim([]byte(mod), []string{sdkModule, "a.example/x", "c.example/z"})); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestExportSDK looks for what a stranger must not need, and what they must have.
func TestExportSDK(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sdk-alone")
	if err := exportSDK(t.Context(), root, dir); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{"gin-gonic", "badger", "spf13", "charmbracelet", "prometheus"} {
		if strings.Contains(string(mod), foreign) {
			t.Errorf("the sdk requires %s:\n%s", foreign, mod)
		}
	}
	for _, needed := range []string{"hashicorp/go-plugin", "google.golang.org/grpc"} {
		if !strings.Contains(string(mod), needed) {
			t.Errorf("the sdk does not require %s:\n%s", needed, mod)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"LICENSE", "NOTICE", "docs", "go.mod", "go.sum", "modules", "sdk", "use.sh"}; !slices.Equal(names, want) {
		t.Errorf("exported %v, want %v", names, want)
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, "_test.go") || entry.Name() == "testdata") {
			t.Errorf("%s went along", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := exportSDK(t.Context(), root, dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second export into the same directory: %v", err)
	}
}

func TestFenced(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "$ outside\n```console\n$ one --flag\noutput\n$ two\n```\n$ outside\n```\ngo build .\n./x\n```\n```go\n$ no\n```\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := pageCommands(page); err != nil || !slices.Equal(got, []string{"one --flag", "two"}) {
		t.Errorf("console: %q, %v", got, err)
	}
	if got, err := readmeCommands(page); err != nil || !slices.Equal(got, []string{"go build ."}) {
		t.Errorf("readme: %q, %v", got, err)
	}
	if err := os.WriteFile(page, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pageCommands(page); err == nil {
		t.Error("a page without commands is no error")
	}
}

// TestPageHasCommands keeps the run from checking nothing.
func TestPageHasCommands(t *testing.T) {
	commands, err := pageCommands(filepath.Join(root, "docs/plugins.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(commands, "\n")
	for _, word := range []string{"plugin install", "plugin enable", "plugin disable", "plugin verify", "plugin info", "plugin list", "plugin restart", "plugin logs", "agent spawn"} {
		if !strings.Contains(all, "wardroom "+word+" ") && !strings.HasSuffix(all, word) && !strings.Contains(all, word+"\n") {
			t.Errorf("docs/plugins.md has no command %q that is run", word)
		}
	}
	readme, err := readmeCommands(filepath.Join(root, "plugins/example/README.md"))
	if err != nil || len(readme) != 2 {
		t.Errorf("the README's commands are %q, error %v", readme, err)
	}
}
