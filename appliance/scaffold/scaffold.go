package scaffold

import (
	"embed"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// SDKModule is the module that has the sdk.
const SDKModule = "github.com/wardroom/wardroom"

//go:embed runtime/*.tmpl
var templates embed.FS

// Options say what to make. Name and Dir are needed.
type Options struct {
	Name   string // of the runtime; its plugin is runtime-NAME
	Dir    string // where to: a directory that does not exist, or is empty
	Module string // path of the new module; empty: DefaultModule
	// SDK is a directory with the sdk, for machines that reach no module proxy; it gets into the module as a
	// replacement, relative to Dir if it is relative to the working directory. Empty: Version is fetched.
	SDK     string
	Version string // of Wardroom, such as 1.2.3; needed without SDK
}

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	moduleForm  = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._~-]*(/[a-zA-Z0-9_~-][a-zA-Z0-9._~-]*)*$`)
	releaseForm = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)[0-9.]*)?$`)
	sdkForm     = regexp.MustCompile(`(?m)^module\s+"?` + regexp.QuoteMeta(SDKModule) + `"?\s*$`)
)

// maxName leaves room for the kind in the 63 characters of a plugin's name.
const maxName = 63 - len("runtime-")

// DefaultModule is the path of a module whose author named none.
func DefaultModule(name string) string { return "example.com/wardroom-runtime-" + name }

// Runtime writes the module of a runtime plugin and returns the names of its files, sorted. VALIDATION_ERROR and
// CONFLICT name what is wrong, and then nothing is written.
func Runtime(o Options) ([]string, error) {
	files, err := RuntimeFiles(o)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(files)), write(o.Dir, files)
}

// RuntimeFiles returns what Runtime writes, by name. It writes nothing.
func RuntimeFiles(o Options) (map[string]string, error) {
	if o.Module == "" {
		o.Module = DefaultModule(o.Name)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	version, replacement, err := o.requirement()
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("@NAME@", o.Name, "@MODULE@", o.Module, "@VERSION@", version, "@REPLACE@", replacement)
	entries, err := fs.ReadDir(templates, "runtime")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, entry := range entries {
		data, err := templates.ReadFile("runtime/" + entry.Name())
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(entry.Name(), ".tmpl")
		if name == "gitignore" { // go:embed leaves out names that begin with a dot
			name = ".gitignore"
		}
		files[name] = fill.Replace(string(data))
	}
	return files, nil
}

func (o *Options) check() error {
	var problems []core.Problem
	add := func(field, reason string) { problems = append(problems, core.Problem{Path: field, Reason: reason}) }
	if !nameForm.MatchString(o.Name) || len(o.Name) > maxName {
		add("name", strconv.Quote(o.Name)+" is not a name; use lower-case letters, digits and single dashes, a letter first, at most "+strconv.Itoa(maxName))
	} else if strings.HasPrefix(o.Name, "runtime-") {
		add("name", "is put behind runtime- by itself; give "+strings.TrimPrefix(o.Name, "runtime-"))
	}
	if !moduleForm.MatchString(o.Module) || len(o.Module) > 200 {
		add("module", strconv.Quote(o.Module)+" is not the path of a Go module, such as example.com/team/runtime-x")
	} else if o.Module == SDKModule || strings.HasPrefix(o.Module, SDKModule+"/") {
		add("module", "must be one of your own, not Wardroom's")
	}
	if o.Dir == "" {
		add("dir", "is empty; name the directory to make")
	}
	return core.InvalidAll("the module cannot be made", problems)
}

// requirement returns the version to require, and the replacement if there is one.
func (o *Options) requirement() (version, replacement string, err error) {
	if o.SDK == "" {
		if !releaseForm.MatchString(o.Version) {
			return "", "", core.Invalid("sdk", "is needed: this program is %q, not a release whose sdk could be fetched; name a directory that has the sdk", o.Version)
		}
		return "v" + strings.TrimPrefix(o.Version, "v"), "", nil
	}
	data, err := os.ReadFile(filepath.Join(o.SDK, "go.mod"))
	if err != nil || !sdkForm.Match(data) {
		return "", "", core.Invalid("sdk", "%s has no go.mod of the module %s", o.SDK, SDKModule)
	}
	if info, err := os.Stat(filepath.Join(o.SDK, "sdk")); err != nil || !info.IsDir() {
		return "", "", core.Invalid("sdk", "%s has no directory sdk; name the directory above it", o.SDK)
	}
	path := filepath.Clean(o.SDK)
	if !filepath.IsAbs(path) {
		if path, err = relative(o.Dir, path); err != nil {
			return "", "", core.Invalid("sdk", "%s cannot be reached from %s; give its whole path", o.SDK, o.Dir)
		}
	}
	if strings.ContainsAny(path, " \t\"'`,()[]") {
		path = strconv.Quote(path)
	}
	return "v0.0.0", "\nreplace " + SDKModule + " => " + path + "\n", nil
}

// relative is the path from one directory to another, in the form that go.mod takes for a path.
func relative(from, to string) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	if to, err = filepath.Abs(to); err != nil {
		return "", err
	}
	path, err := filepath.Rel(from, to)
	if err == nil && path != ".." && !strings.HasPrefix(path, "../") {
		path = "./" + path
	}
	return path, err
}
