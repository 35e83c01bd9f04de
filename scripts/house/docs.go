package house

import (
	"regexp"
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
