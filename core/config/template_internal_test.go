package config

import (
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// templateHead begins configs/wardroom.yaml, which packages install and TestPublishedFiles compares.
const templateHead = `# Configuration of Wardroom.
#
# Every key is listed here with its default, commented out: uncomment what you change. Files conf.d/*.yaml
# beside this one are read after it in lexical order; they add to sections and replace values and lists.
# Values may refer to the environment: ${NAME}, ${NAME:-default}; write $${ for a literal ${.
# Relative paths are relative to the file that names them. Durations: 30s, 24h, 7d. Sizes: 512k, 10MiB.
#
# wardroom config validate --config FILE   checks the file and changes nothing
# systemctl reload wardroom                takes over the keys marked (reload); the others need a restart
`

// Template returns the packaged configuration file: every key with its description and its default, all
// commented out, so that the file as it is means Default.
func Template() []byte {
	var b strings.Builder
	b.WriteString(templateHead)
	for _, k := range sample().keys() {
		indent := margin(k.path)
		if k.section {
			name := k.name()
			if name == schema.AnyName {
				name = "#<name>"
			}
			fmt.Fprintf(&b, "\n%s# %s\n%s%s:\n", indent, k.doc, indent, name)
			continue
		}
		for _, line := range wrap(k.help(), 100-len(indent)) {
			fmt.Fprintf(&b, "%s# %s\n", indent, line)
		}
		fmt.Fprintf(&b, "%s#%s: %s\n", indent, k.name(), k.sample())
	}
	return []byte(b.String())
}

// margin is what stands before a line that belongs to a key. Below the name of an entry, which is commented
// out itself, it begins with a # of its own.
func margin(key string) string {
	before, below, isEntry := strings.Cut(key, schema.AnyName)
	indent := strings.Repeat("  ", strings.Count(before, "."))
	if !isEntry || below == "" {
		return indent
	}
	return indent + "#" + strings.Repeat("  ", strings.Count(below, "."))
}

// wrap breaks text at spaces into lines of at most width bytes; a longer word stands alone.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
