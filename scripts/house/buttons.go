package house

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
)

// rawButton finds where a tag of a button begins, with its type where it has one, which is its first attribute.
var rawButton = regexp.MustCompile(`<button\b(\s+type="(button|submit|reset)"|\s+type=\{)?`)

// CheckButtons reports buttons of the console without a type: in a form each of them submits it.
func CheckButtons(t *Tree) ([]Finding, error) {
	var findings []Finding
	for _, name := range t.Files {
		if path.Ext(name) != ".tsx" {
			continue
		}
		data, err := fs.ReadFile(t.fsys, name)
		if err != nil {
			return nil, err
		}
		for _, at := range rawButton.FindAllSubmatchIndex(data, -1) {
			if at[2] < 0 {
				line := 1 + bytes.Count(data[:at[0]], []byte("\n"))
				findings = append(findings, Finding{fmt.Sprintf("%s:%d", name, line), `has a button whose first attribute is no type: one without a type submits the form it stands in; begin it with type="button" or type="submit"`})
			}
		}
	}
	return findings, nil
}
