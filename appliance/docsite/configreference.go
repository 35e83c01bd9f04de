package docsite

import (
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/core/config"
)

// configReference returns the page of all keys of the configuration.
func configReference() []byte {
	var b strings.Builder
	b.WriteString("# Configuration\n\n" + escape("Every key of the configuration file, with its default. `wardroom config validate FILE` checks a file, "+
		"`wardroom config show FILE` shows what it comes to, and `wardroom config schema` prints the JSON Schema for editors. "+
		"A reload (`wardroom reload`) takes over the keys marked (reload); the others need a restart.") + "\n")
	for _, k := range config.Reference() {
		if k.Section {
			fmt.Fprintf(&b, "\n## `%s`\n\n%s\n", k.Path, escape(k.Text))
			continue
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\n\n%s.", k.Path, escape(k.Text), escape(k.Type))
		if k.Default != "" {
			fmt.Fprintf(&b, " Default: %s", code(k.Default))
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// escape returns Markdown that reads as a text does, but for code between backticks.
func escape(text string) string {
	var b strings.Builder
	parts := strings.Split(text, "`")
	for i, part := range parts {
		if i%2 == 1 && i < len(parts)-1 {
			b.WriteString(code(part))
			continue
		}
		if i%2 == 1 { // nothing ends it
			b.WriteString("\\`")
		}
		for _, r := range part {
			switch {
			case r == '\n':
				r = ' '
			case strings.ContainsRune("\\`*_{}[]<>()#+-.!|~&:/\"'$%,;=?@^", r):
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code returns a text as code, in a table too.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", "\\|") + fence
}
