package policy

import (
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/wardroom/wardroom/core"
)

// Bounds of a policy.
const (
	maxFiles   = 500
	maxBytes   = 4 << 20 // of all files
	testLimit  = 5 * time.Second
	fileSuffix = ".rego"
	testSuffix = "_test.rego"
)

//go:embed rego
var builtInFiles embed.FS

// file is one file of a policy.
type file struct{ name, text string }

// isTest reports whether a rule is a test.
func isTest(name string) bool { return strings.HasPrefix(name, "test_") }

// BuiltIn returns the text of the built-in policy.
func BuiltIn() string {
	data, err := builtInFiles.ReadFile("rego/authz.rego")
	if err != nil {
		panic(err) // it is in the binary
	}
	return string(data)
}

func builtInFile() file { return file{"authz.rego", BuiltIn()} }

// load reads the files of a policy, sorted by name.
func load(dir string) ([]file, error) {
	if dir == "" {
		return []file{builtInFile()}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	var files []file
	total := 0
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, fileSuffix) || strings.HasPrefix(name, ".") {
			continue
		}
		path := filepath.Join(dir, name)
		text, err := read(path, maxBytes-total)
		if err != nil {
			return nil, unreadable(path, err)
		}
		if total += len(text); len(files) >= maxFiles {
			return nil, core.Invalid("security.policy.dir", "%s holds more than %d files", dir, maxFiles)
		}
		files = append(files, file{path, text})
	}
	if len(files) == 0 {
		return nil, core.Invalid("security.policy.dir", "%s holds no *%s files", dir, fileSuffix)
	}
	return files, nil
}

func unreadable(path string, err error) error {
	return core.Invalid("security.policy.dir", "%s cannot be read: %v", path, err)
}

// read reads a regular file of at most limit bytes.
func read(path string, limit int) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("it is no file")
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("the policy is larger than %d bytes", maxBytes)
	}
	return string(data), err
}

// parse compiles files strictly, with what policies may use.
func parse(files []file) (*ast.Compiler, []*ast.Module, error) {
	capabilities := capabilities()
	modules, list := map[string]*ast.Module{}, []*ast.Module{}
	var failed ast.Errors
	for _, f := range files {
		m, err := ast.ParseModuleWithOpts(f.name, f.text, ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: capabilities})
		if errs, ok := err.(ast.Errors); ok { //nolint:errorlint // that is what it returns, unwrapped
			failed = append(failed, errs...)
			continue
		}
		if err != nil {
			return nil, nil, core.Invalid("security.policy.dir", "%s: %v", f.name, err)
		}
		if m == nil {
			return nil, nil, core.Invalid("security.policy.dir", "%s is empty", f.name)
		}
		modules[f.name] = m
		list = append(list, m)
	}
	if len(failed) > 0 {
		return nil, nil, problems(failed)
	}
	compiler := ast.NewCompiler().WithCapabilities(capabilities).WithStrict(true).WithDefaultRegoVersion(ast.RegoV1)
	if compiler.Compile(modules); compiler.Failed() {
		return nil, nil, problems(compiler.Errors)
	}
	return compiler, list, nil
}

// cut are the built-in functions that policies must do without, beside those whose results are not the same each time:
// they reach outside, show the process, or run what is not compiled here. Those of schemas fetch what a schema refers to, from files and
// from the network, for as long as that takes. A shift makes a number of any size at once, which ends the process.
var cut = []string{
	"http.send", "json.match_schema", "json.verify_schema", "opa.runtime", "rego.parse_module", "net.lookup_ip_addr", "trace", "print", "bits.lsh",
}

// capabilities returns the capabilities of the compiler, without those that policies must not have.
func capabilities() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(slices.Clone(c.Builtins), func(b *ast.Builtin) bool {
		return b.Nondeterministic || slices.Contains(cut, b.Name) || strings.HasPrefix(b.Name, "net.") || strings.HasPrefix(b.Name, "io.jwt.") ||
			strings.HasPrefix(b.Name, "graphql.") || strings.HasPrefix(b.Name, "providers.")
	})
	c.AllowNet = []string{}
	return c
}
