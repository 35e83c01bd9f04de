package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"strings"
)

// Limits in lines.
const (
	MaxFileLines = 700
	MaxMainLines = 60
)

// handWritten are the endings of files that people write and read as code.
var handWritten = map[string]bool{
	".go": true, ".sh": true, ".py": true, ".ts": true, ".js": true, ".mjs": true, ".proto": true, ".rego": true,
}

// CheckSizes reports files that are too long to be about one thing, and mains that do work of their own.
func CheckSizes(t *Tree) ([]Finding, error) {
	var findings []Finding
	generated := map[string]bool{}
	for _, pkg := range t.Packages {
		for _, file := range pkg.Files {
			generated[file.Name] = file.Generated
			if pkg.Name == "main" && !file.Test {
				findings = append(findings, checkMain(t, file)...)
			}
		}
	}
	for _, name := range t.Files {
		if !handWritten[path.Ext(name)] || generated[name] || strings.HasSuffix(name, ".gen.ts") {
			continue
		}
		data, err := fs.ReadFile(t.fsys, name)
		if err != nil {
			return nil, err
		}
		if lines := bytes.Count(data, []byte("\n")); lines > MaxFileLines {
			findings = append(findings, Finding{name, fmt.Sprintf("has %d lines, more than %d; split it by noun", lines, MaxFileLines)})
		}
	}
	return findings, nil
}

func checkMain(t *Tree, file *File) []Finding {
	var findings []Finding
	for _, decl := range file.Syntax.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "main" || f.Recv != nil {
			continue
		}
		lines := t.Fset.Position(f.End()).Line - t.Fset.Position(f.Pos()).Line + 1
		if lines >= MaxMainLines {
			findings = append(findings, Finding{t.At(f.Pos()), fmt.Sprintf("main has %d lines; under %d it holds no logic that a test cannot reach", lines, MaxMainLines)})
		}
	}
	return findings
}
