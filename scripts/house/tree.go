package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// Module is the path of the main module; packages are named relative to it.
const Module = "github.com/wardroom/wardroom"

// Tree is the source tree, parsed once. Nested modules are part of it: the same rules hold for them.
type Tree struct {
	Fset     *token.FileSet
	Packages []*Package // sorted by Path
	Files    []string   // every file that is kept under version control or could be, slash-separated
	fsys     fs.FS
}

// Package is one directory with Go files.
type Package struct {
	Path  string // relative to the module, for example "core/store"; "." for the root
	Name  string
	Files []*File // sorted by name
}

// File is one Go file.
type File struct {
	Name      string // slash-separated path relative to the root
	Test      bool   // ends in _test.go
	Generated bool
	Lines     int
	Syntax    *ast.File
}

// Finding is one broken rule: where, and why it matters.
type Finding struct {
	At  string // file:line, file or package
	Why string
}

// String renders the finding as one line.
func (f Finding) String() string { return f.At + ": " + f.Why }

// Load parses the tree below root.
func Load(root fs.FS) (*Tree, error) {
	t := &Tree{Fset: token.NewFileSet(), fsys: root}
	byDir := map[string]*Package{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && skipDir(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		t.Files = append(t.Files, name)
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := t.parse(name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		pkg := byDir[dir]
		if pkg == nil {
			pkg = &Package{Path: dir}
			byDir[dir] = pkg
			t.Packages = append(t.Packages, pkg)
		}
		if !file.Test || pkg.Name == "" {
			pkg.Name = strings.TrimSuffix(file.Syntax.Name.Name, "_test")
		}
		pkg.Files = append(pkg.Files, file)
		return nil
	})
	sort.Slice(t.Packages, func(i, j int) bool { return t.Packages[i].Path < t.Packages[j].Path })
	return t, err
}

// LoadDir parses the tree of a directory.
func LoadDir(dir string) (*Tree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return Load(os.DirFS(abs))
}

// skipDir reports whether a directory holds nothing of ours: what tools make, code of others, and test data.
func skipDir(base string) bool {
	switch base {
	case "testdata", "node_modules", "bin", "vendor", "dist":
		return true
	}
	return strings.HasPrefix(base, ".") && base != ".ci"
}

func (t *Tree) parse(name string) (*File, error) {
	data, err := fs.ReadFile(t.fsys, name)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(t.Fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	return &File{
		Name:      name,
		Test:      strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(syntax),
		Lines:     bytes.Count(data, []byte("\n")),
		Syntax:    syntax,
	}, nil
}

// At names a position for a finding.
func (t *Tree) At(pos token.Pos) string {
	p := t.Fset.Position(pos)
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

// Within reports whether a slash-separated path is dir or lies below it.
func Within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, dir+"/")
}
