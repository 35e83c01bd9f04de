package house

import (
	"fmt"
	"go/ast"
	"regexp"
)

// MostMethods is how many methods and interfaces in it an interface has, unless its comment says why more are right.
const MostMethods = 6

// manyMethods matches the comment of a larger interface: "It has many methods because ..." or "They are many because
// ...".
var manyMethods = regexp.MustCompile(`\b(It has many methods|They are many)\s+because\s+\S`)

// CheckInterfaces reports interfaces outside tests and generated code that are larger than one thing needs and whose comment
// does not say why, and comments that say why of interfaces that are not.
func CheckInterfaces(t *Tree) []Finding {
	var findings []Finding
	for _, pkg := range t.Packages {
		for _, file := range pkg.Files {
			if file.Test || file.Generated {
				continue
			}
			for _, decl := range file.Syntax.Decls {
				g, ok := decl.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, spec := range g.Specs {
					if finding := checkInterface(t, g, spec); finding != nil {
						findings = append(findings, *finding)
					}
				}
			}
		}
	}
	return findings
}

func checkInterface(t *Tree, g *ast.GenDecl, spec ast.Spec) *Finding {
	ts, ok := spec.(*ast.TypeSpec)
	if !ok {
		return nil
	}
	body, ok := ts.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	n := 0
	for _, field := range body.Methods.List {
		n += max(len(field.Names), 1)
	}
	doc := ts.Doc.Text()
	if doc == "" {
		doc = g.Doc.Text()
	}
	says := manyMethods.MatchString(doc)
	switch {
	case n > MostMethods && !says:
		return &Finding{t.At(ts.Pos()), fmt.Sprintf("the interface %s has %d methods, more than %d: split it by what it is about, or say in its comment: It has many methods because ...", ts.Name.Name, n, MostMethods)}
	case n <= MostMethods && says:
		return &Finding{t.At(ts.Pos()), fmt.Sprintf("the interface %s says why it has many methods, and has %d: drop that", ts.Name.Name, n)}
	}
	return nil
}
