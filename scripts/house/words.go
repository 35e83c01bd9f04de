package house

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// marker finds the words that postpone work, as a word of a comment.
var marker = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

// scriptComment finds the comment of a line in a script or a configuration file.
var scriptComment = regexp.MustCompile(`(^|\s)(#|//)(.*)$`)

var scripts = map[string]bool{".sh": true, ".py": true, ".ts": true, ".js": true, ".yaml": true, ".yml": true}

// emptyNames are package names that say nothing about what is inside, and so attract everything.
var emptyNames = map[string]bool{
	"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "types": true, "models": true,
}

// CheckWords reports postponed work, empty package names, and tests that sleep.
func CheckWords(t *Tree) ([]Finding, error) {
	var findings []Finding
	for _, pkg := range t.Packages {
		if emptyNames[pkg.Name] || emptyNames[path.Base(pkg.Path)] {
			findings = append(findings, Finding{pkg.Path, "is a package name that does not say what is inside"})
		}
		for _, file := range pkg.Files {
			if file.Generated {
				continue
			}
			findings = append(findings, checkComments(t, file)...)
			if file.Test || testSupport(pkg.Path) {
				findings = append(findings, checkSleep(t, file)...)
			}
		}
	}
	for _, name := range t.Files {
		if !scripts[path.Ext(name)] {
			continue
		}
		data, err := fs.ReadFile(t.fsys, name)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			if match := scriptComment.FindStringSubmatch(lines.Text()); len(match) == 4 && marker.MatchString(match[3]) {
				findings = append(findings, postponed(fmt.Sprintf("%s:%d", name, n)))
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return findings, nil
}

func postponed(at string) Finding {
	return Finding{at, "postpones work; do it, or write an issue"}
}

func checkComments(t *Tree, file *File) []Finding {
	var findings []Finding
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			if marker.MatchString(comment.Text) {
				findings = append(findings, postponed(t.At(comment.Pos())))
			}
		}
	}
	return findings
}

// checkSleep finds calls of time.Sleep under whatever name the file gives the package time.
func checkSleep(t *Tree, file *File) []Finding {
	name := ""
	for _, spec := range file.Syntax.Imports {
		if strings.Trim(spec.Path.Value, `"`) == "time" {
			name = "time"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	if name == "" {
		return nil
	}
	var findings []Finding
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		sel, ok := node.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Sleep" {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == name {
			findings = append(findings, Finding{t.At(sel.Pos()), "sleeps in a test; wait for the condition, or move a fake clock"})
		}
		return true
	})
	return findings
}
