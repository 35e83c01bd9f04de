package scaffold

import (
	"cmp"
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

//go:embed runtime/*.tmpl audit/*.tmpl secret/*.tmpl
var templates embed.FS

// ownSDK is where a module has the sdk that Module writes with it.
const ownSDK = "third_party/wardroom"

// Options say what to make. Name and Dir are needed.
type Options struct {
	Name   string // of the runtime, sink or provider; its plugin is runtime-NAME, audit-NAME or secrets-NAME
	Dir    string // where to: a directory that does not exist, or is empty
	Module string // path of the new module; empty: DefaultModule
	Kind   string // runtime, audit or secret; empty: runtime
	// SDK is a directory with the sdk; it gets into the module as a replacement, relative to Dir if it is relative to the
	// working directory. Empty: the sdk of this program is written into the module, unless Fetch is set.
	SDK string
	// Fetch has the module require the sdk in Version, which is fetched from a module proxy.
	Fetch   bool
	Version string // of Wardroom, such as 1.2.3; needed with Fetch
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
func (o *Options) DefaultModule() string { return "example.com/wardroom-" + o.Plugin() }

// Plugin returns the name of the plugin.
func (o *Options) Plugin() string { return o.prefix() + o.Name }

func (o *Options) kind() string { return cmp.Or(o.Kind, core.PluginKindRuntime) }

// prefix begins the name of the plugin.
func (o *Options) prefix() string {
	if o.kind() == core.PluginKindSecret {
		return core.SecretPluginPrefix
	}
	return o.kind() + "-"
}

// Module writes the module of a plugin and returns the names of its files, sorted. VALIDATION_ERROR and
// CONFLICT name what is wrong, and then nothing is written.
func Module(o Options) ([]string, error) {
	files, err := Files(o)
	if err != nil {
		return nil, err
	}
	err = write(o.Dir, func(temp string) error {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(temp, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
		if o.SDK != "" || o.Fetch {
			return nil
		}
		sdk := filepath.Join(temp, ownSDK)
		if err := os.MkdirAll(sdk, 0o755); err != nil {
			return err
		}
		archive, err := openSDK()
		if err != nil {
			return err
		}
		defer func() { _ = archive.Close() }() // only read from
		return UnpackSDK(archive, sdk)
	}, "")
	return slices.Sorted(maps.Keys(files)), err
}

// Files returns what Module writes, by name. It writes nothing.
func Files(o Options) (map[string]string, error) {
	o.Module = cmp.Or(o.Module, o.DefaultModule())
	if err := o.check(); err != nil {
		return nil, err
	}
	version, replacement, err := o.requirement()
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("@NAME@", o.Name, "@MODULE@", o.Module, "@VERSION@", version, "@REPLACE@", replacement)
	paths, err := fs.Glob(templates, o.kind()+"/*.tmpl")
	if err != nil {
		return nil, err
	}
	if o.kind() != core.PluginKindRuntime { // all need the modules of the sdk
		paths = append(paths, "runtime/go.mod.tmpl", "runtime/go.sum.tmpl")
	}
	files := map[string]string{}
	for _, path := range paths {
		data, err := templates.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".tmpl")
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
	} else if strings.HasPrefix(o.Name, o.prefix()) {
		add("name", "is put behind "+o.prefix()+" by itself; give "+strings.TrimPrefix(o.Name, o.prefix()))
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

// requirement returns the version to require, and the replacements if there are any.
func (o *Options) requirement() (version, replacement string, err error) {
	const none = "v0.0.0" // of a module that is replaced
	switch {
	case o.SDK != "" && o.Fetch:
		return "", "", core.Invalid("sdk", "is either fetched or lies in %s, not both", o.SDK)
	case o.Fetch:
		if !releaseForm.MatchString(o.Version) {
			return "", "", core.Invalid("sdk", "cannot be fetched: this program is %q, not a release; use the sdk that is in it, or name a directory that has one", o.Version)
		}
		return "v" + strings.TrimPrefix(o.Version, "v"), "", nil
	case o.SDK == "":
		module, err := bundledModule()
		if err != nil {
			return "", "", err
		}
		return none, replacements("./"+ownSDK, module), nil
	}
	module, err := readModule(o.SDK)
	if err != nil {
		return "", "", err
	}
	path := filepath.Clean(o.SDK)
	if !filepath.IsAbs(path) {
		if path, err = relative(o.Dir, path); err != nil {
			return "", "", core.Invalid("sdk", "%s cannot be reached from %s; give its whole path", o.SDK, o.Dir)
		}
	}
	return none, replacements(path, module), nil
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
