package house

import (
	"go/ast"
	"strings"
)

// CheckGoroutines reports product packages that start goroutines and whose tests do not look for leaked
// ones. Who starts a goroutine joins it; goleak in TestMain is the proof.
func CheckGoroutines(t *Tree) []Finding {
	var findings []Finding
	for _, pkg := range t.Packages {
		if !Within(pkg.Path, "core") && !Within(pkg.Path, "sdk") && !Within(pkg.Path, "appliance") || pkg.Name == "main" {
			continue
		}
		started, checked := "", false
		for _, file := range pkg.Files {
			if file.Test {
				checked = checked || importsGoleak(file)
				continue
			}
			ast.Inspect(file.Syntax, func(node ast.Node) bool {
				if stmt, ok := node.(*ast.GoStmt); ok && started == "" {
					started = t.At(stmt.Pos())
				}
				return started == ""
			})
		}
		if started != "" && !checked {
			findings = append(findings, Finding{started, "starts a goroutine, and no test of " + pkg.Path + " runs goleak in TestMain"})
		}
	}
	return findings
}

func importsGoleak(file *File) bool {
	for _, spec := range file.Syntax.Imports {
		if strings.Contains(spec.Path.Value, "go.uber.org/goleak") {
			return true
		}
	}
	return false
}
