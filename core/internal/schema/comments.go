package schema

import "strings"

// Comments returns what the sources of Go packages, as gofmt writes them, say above the fields of their structs, by
// type and field: Server.Listen. A text for operators stands there once then, for them and for readers of the code.
func Comments(sources ...string) map[string]string {
	said := map[string]string{}
	for _, source := range sources {
		owner := ""
		var lines []string
		for line := range strings.Lines(source) {
			line = strings.TrimRight(line, "\n")
			text, comment := strings.CutPrefix(line, "\t// ")
			name, of := strings.CutPrefix(line, "type ")
			switch {
			case of && strings.HasSuffix(line, " struct {"):
				owner = strings.TrimSuffix(name, " struct {")
			case line == "}":
				owner = ""
			case owner != "" && comment:
				lines = append(lines, text)
				continue
			case owner != "" && len(lines) > 0:
				field, _, _ := strings.Cut(strings.TrimSpace(line), " ")
				said[owner+"."+field] = strings.Join(lines, " ")
			}
			lines = nil
		}
	}
	return said
}
