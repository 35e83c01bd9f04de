package house

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// sentenceEnd is a full stop with a space or the end behind it, so that "e.g. v1.2" counts for little.
var sentenceEnd = regexp.MustCompile(`[.!?]["')]?(\s|$)`)

// CheckDocs reports packages whose comment is missing or too short to say what they own, what they do not
// own, and who calls them.
func CheckDocs(t *Tree) []Finding {
	var findings []Finding
	for _, pkg := range t.Packages {
		doc, code := "", false
		for _, file := range pkg.Files {
			if file.Test {
				continue
			}
			code = true
			if text := file.Syntax.Doc.Text(); len(text) > len(doc) {
				doc = text
			}
		}
		if !code {
			continue
		}
		switch sentences := len(sentenceEnd.FindAllString(doc, -1)); {
		case doc == "":
			findings = append(findings, Finding{pkg.Path, "has no package comment; say what it owns, what it does not, and who calls it"})
		case sentences < 2:
			findings = append(findings, Finding{pkg.Path, "has a package comment of one sentence; say also what it does not own, or who calls it"})
		case pkg.Name != "main" && !strings.HasPrefix(doc, "Package "+pkg.Name+" "):
			findings = append(findings, Finding{pkg.Path, "has a package comment that does not begin with Package " + pkg.Name})
		}
	}
	return findings
}

// mapLine is a line of the map in the comment of package core.
var mapLine = regexp.MustCompile(`(?m)^\t([a-z]+) `)

// CheckMap reports packages below core that are not in its map, and those of the map that there are not.
func CheckMap(t *Tree) []Finding {
	listed, there := map[string]bool{}, map[string]bool{}
	for _, pkg := range t.Packages {
		if pkg.Path == "core" {
			for _, file := range pkg.Files {
				for _, line := range mapLine.FindAllStringSubmatch(file.Syntax.Doc.Text(), -1) {
					listed["core/"+line[1]] = true
				}
			}
		}
	}
	var findings []Finding
	for _, pkg := range t.Packages {
		if Within(pkg.Path, leaves) || path.Dir(pkg.Path) == "core" && !testSupport(pkg.Path) {
			there[area(pkg.Path)] = true
			if !listed[area(pkg.Path)] {
				findings = append(findings, Finding{pkg.Path, "is not in the map of core/doc.go; add its line there"})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if !there[name] {
			findings = append(findings, Finding{name, "is in the map of core/doc.go, and there is no such package"})
		}
	}
	return findings
}
