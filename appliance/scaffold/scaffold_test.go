package scaffold_test

import (
	"errors"
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/scaffold"
	"github.com/wardroom/wardroom/core"
)

var update = flag.Bool("update", false, "write plugins/example anew from the templates, and the templates' requirements anew from plugins/example")

const (
	root    = "../.."
	example = root + "/plugins/example"
)

// TestExample holds the example to the templates. Code begins in the templates; requirements begin in the
// example, where the go tool can work on them.
func TestExample(t *testing.T) {
	if *update {
		adoptRequirements(t)
		t.Log("run it once more without -update: the templates are embedded")
	}
	files, err := scaffold.Files(scaffold.Options{Name: "example", Dir: example, SDK: root})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		path := filepath.Join(example, name)
		requirement := name == "go.mod" || name == "go.sum"
		if *update && !requirement {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); (err != nil || string(got) != want) && !*update {
			t.Errorf("%s is not what `wardroom plugin new runtime example` makes (%v); run go test ./appliance/scaffold -update", path, err)
		}
	}
}

// adoptRequirements makes templates of the example's go.mod and go.sum.
func adoptRequirements(t *testing.T) {
	t.Helper()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(example, name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if name == "go.mod" {
			text, _, _ = strings.Cut(text, "\nreplace ")
			text = strings.NewReplacer("module "+"example.com/wardroom-runtime-example", "module @MODULE@", scaffold.SDKModule+" v0.0.0", scaffold.SDKModule+" @VERSION@").Replace(text) + "@REPLACE@"
		}
		if err := os.WriteFile(filepath.Join("runtime", name+".tmpl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExampleIsShort keeps the promise that a launcher is small.
func TestExampleIsShort(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(example, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(data), "\n"); lines >= 150 {
		t.Errorf("the example has %d lines and was promised to have less than 150", lines)
	}
}

func TestRuntime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "runtime-pen")
	names, err := scaffold.Module(scaffold.Options{Name: "pen", Dir: dir, Module: "git.example.com/ops/pen", Fetch: true, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(names, " "), ".gitignore README.md go.mod go.sum main.go main_test.go"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if strings.Contains(text, "example.com/wardroom") || strings.Contains(text, "runtime-example") || strings.Contains(text, "@NAME@") || strings.Contains(text, "@MODULE@") {
			t.Errorf("%s has a name that is not its own:\n%s", name, text)
		}
		if strings.HasSuffix(name, ".go") {
			if formatted, err := format.Source(data); err != nil || string(formatted) != text {
				t.Errorf("%s is not formatted: %v", name, err)
			}
		}
	}
	module, _ := os.ReadFile(filepath.Join(dir, "go.mod"))
	if !strings.HasPrefix(string(module), "module git.example.com/ops/pen\n") || !strings.Contains(string(module), scaffold.SDKModule+" v1.2.3\n") || strings.Contains(string(module), "replace") {
		t.Errorf("go.mod:\n%s", module)
	}
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
		t.Errorf("beside the module lies %v", left)
	}
}

// sdk makes what passes for a directory with the sdk.
func sdk(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "sdk"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+scaffold.SDKModule+"\n\ngo 1.26\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReplacement(t *testing.T) {
	base := t.TempDir()
	t.Chdir(base)
	sdk(t, "here/wardroom")
	for _, tt := range []struct{ dir, sdk, want string }{
		{"out", sdk(t, filepath.Join(base, "abs")), filepath.Join(base, "abs")},
		{"out", "here/wardroom", "../here/wardroom"},
		{"deep/out", "./here/wardroom/", "../../here/wardroom"},
		{"here", "here/wardroom", "./wardroom"},
		{"out", sdk(t, filepath.Join(base, "with blank")), `"` + filepath.Join(base, "with blank") + `"`},
	} {
		files, err := scaffold.Files(scaffold.Options{Name: "pen", Dir: tt.dir, SDK: tt.sdk})
		if err != nil {
			t.Errorf("%s: %v", tt.sdk, err)
			continue
		}
		if want := "replace " + scaffold.SDKModule + " => " + tt.want + "\n"; !strings.HasSuffix(files["go.mod"], "\n\n"+want) {
			t.Errorf("go.mod does not end with %q:\n%s", want, files["go.mod"])
		}
	}
}

func TestRuntimeRefuses(t *testing.T) {
	base := t.TempDir()
	full := filepath.Join(base, "full")
	sdk(t, full)
	noSDK := filepath.Join(base, "nosdk")
	if err := os.Mkdir(noSDK, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(noSDK, "go.mod"), []byte("module "+scaffold.SDKModule+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	free := filepath.Join(base, "free")
	for _, tt := range []struct {
		name string
		o    scaffold.Options
		code core.Code
		want string
	}{
		{"NoName", scaffold.Options{Dir: free, Fetch: true, Version: "1.0.0"}, core.CodeValidation, "is not a name"},
		{"UpperCase", scaffold.Options{Name: "Pen", Dir: free, Fetch: true, Version: "1.0.0"}, core.CodeValidation, "is not a name"},
		{"Path", scaffold.Options{Name: "../pen", Dir: free, Fetch: true, Version: "1.0.0"}, core.CodeValidation, "is not a name"},
		{"Long", scaffold.Options{Name: strings.Repeat("x", 56), Dir: free, Fetch: true, Version: "1.0.0"}, core.CodeValidation, "at most 55"},
		{"KindTwice", scaffold.Options{Name: "runtime-pen", Dir: free, Fetch: true, Version: "1.0.0"}, core.CodeValidation, "give pen"},
		{"NoDir", scaffold.Options{Name: "pen", Fetch: true, Version: "1.0.0"}, core.CodeValidation, "name the directory"},
		{"Module", scaffold.Options{Name: "pen", Dir: free, Module: "a b", Fetch: true, Version: "1.0.0"}, core.CodeValidation, "is not the path"},
		{"OurModule", scaffold.Options{Name: "pen", Dir: free, Module: scaffold.SDKModule + "/x", Fetch: true, Version: "1.0.0"}, core.CodeValidation, "of your own"},
		{"NotEmpty", scaffold.Options{Name: "pen", Dir: full, Fetch: true, Version: "1.0.0"}, core.CodeConflict, "is not empty"},
		{"IsFile", scaffold.Options{Name: "pen", Dir: filepath.Join(full, "go.mod"), Fetch: true, Version: "1.0.0"}, core.CodeValidation, "not a directory"},
		{"NoRelease", scaffold.Options{Name: "pen", Dir: free, Fetch: true, Version: "devel"}, core.CodeValidation, "not a release"},
		{"BetweenReleases", scaffold.Options{Name: "pen", Dir: free, Fetch: true, Version: "1.0.0-3-gabcdef"}, core.CodeValidation, "not a release"},
		{"FetchedAndThere", scaffold.Options{Name: "pen", Dir: free, SDK: full, Fetch: true, Version: "1.0.0"}, core.CodeValidation, "not both"},
		{"SDKMissing", scaffold.Options{Name: "pen", Dir: free, SDK: filepath.Join(base, "missing")}, core.CodeValidation, "no go.mod of the module"},
		{"SDKInside", scaffold.Options{Name: "pen", Dir: free, SDK: filepath.Join(full, "sdk")}, core.CodeValidation, "no go.mod of the module"},
		{"SDKEmpty", scaffold.Options{Name: "pen", Dir: free, SDK: noSDK}, core.CodeValidation, "no directory sdk"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := scaffold.Module(tt.o)
			e := core.AsError(err)
			if err == nil || e.Code != tt.code || !strings.Contains(err.Error()+problems(e), tt.want) {
				t.Errorf("error %v (%v), want %s with %q", err, e, tt.code, tt.want)
			}
			if _, err := os.Stat(free); err == nil {
				t.Error("something was written")
			}
		})
	}
}

// problems is the text of every problem of a refusal.
func problems(e *core.Error) string {
	var b strings.Builder
	if list, ok := e.Details["errors"].([]core.Problem); ok {
		for _, p := range list {
			b.WriteString(p.Path + ": " + p.Reason + "\n")
		}
	}
	return b.String()
}

// TestModuleIntoADirectory makes a module in a directory that is there and empty: the one of the shell, and one behind a link. Both
// stay what they are.
func TestModuleIntoADirectory(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	options := func(dir string) scaffold.Options {
		return scaffold.Options{Name: "pen", Dir: dir, Fetch: true, Version: "1.2.3"}
	}
	files, err := scaffold.Module(options("."))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(".") // of the inode that we are in
	if err != nil || len(entries) != len(files) {
		t.Errorf("made %v, there are %v, %v", files, entries, err)
	}
	if err := errors.Join(os.Mkdir("real", 0o700), os.Symlink("real", "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := scaffold.Module(options("link")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("real/go.mod"); err != nil {
		t.Error(err)
	}
	if to, err := os.Readlink("link"); err != nil || to != "real" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}
