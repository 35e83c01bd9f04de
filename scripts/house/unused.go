package house

import (
	"fmt"
	"go/ast"
	"go/token"
)

// supported are the trees that only the product itself uses: what nothing of it names is left over. The sdk is for others.
var supported = []string{"core", "appliance", "plugins"}

// forTests are exported names that the tests of other packages need and the product does not.
var forTests = map[string]bool{
	"appliance/scaffold.HasSDK": true, // tells them what to skip
	"core.Behaviors":            true, // what schema and documentation must name
}

// CheckUnused reports exported functions, variables and single constants that no code outside tests names. It goes by names alone, so
// that a name which is used for anything anywhere is none of them.
func CheckUnused(t *Tree) []Finding {
	named := map[string]int{}
	for _, pkg := range t.Packages {
		for _, file := range pkg.Files {
			if file.Test {
				continue
			}
			ast.Inspect(file.Syntax, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					named[id.Name]++
				}
				return true
			})
		}
	}
	var findings []Finding
	for _, pkg := range t.Packages {
		if !isSupported(pkg) || testsWith(pkg) {
			continue
		}
		for _, file := range pkg.Files {
			if file.Test || file.Generated {
				continue
			}
			for _, id := range exported(file.Syntax) {
				if named[id.Name] == 1 && !forTests[pkg.Path+"."+id.Name] {
					findings = append(findings, Finding{t.At(id.Pos()), fmt.Sprintf("nothing outside tests uses %s: remove it", id.Name)})
				}
			}
		}
	}
	return findings
}

func isSupported(pkg *Package) bool {
	for _, dir := range supported {
		if Within(pkg.Path, dir) {
			return true
		}
	}
	return false
}

// testsWith reports whether a package is there for tests, as one that imports testing is.
func testsWith(pkg *Package) bool {
	for _, file := range pkg.Files {
		for _, spec := range file.Syntax.Imports {
			if !file.Test && spec.Path.Value == `"testing"` {
				return true
			}
		}
	}
	return false
}

// exported lists the exported functions, variables and single constants of a file.
func exported(file *ast.File) []*ast.Ident {
	var list []*ast.Ident
	add := func(id *ast.Ident) {
		if id.IsExported() {
			list = append(list, id)
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			if d.Tok == token.CONST && len(d.Specs) > 1 {
				continue // values of one thing stand together, whether all are named or not
			}
			for _, spec := range d.Specs {
				if values, ok := spec.(*ast.ValueSpec); ok {
					for _, id := range values.Names {
						add(id)
					}
				}
			}
		}
	}
	return list
}
