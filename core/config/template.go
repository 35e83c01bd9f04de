package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

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
	defaults := Default()
	section := ""
	for _, f := range fields {
		section = openSections(&b, section, parentOf(f.key))
		if f.in != nil {
			f = f.bind(anyName) // no entry has this name, so the defaults are those of a new one
		}
		indent := margin(f.key)
		for _, line := range wrap(f.help(), 100-len(indent)) {
			fmt.Fprintf(&b, "%s# %s\n", indent, line)
		}
		fmt.Fprintf(&b, "%s#%s: %s\n", indent, f.name(), f.sample(defaults))
	}
	return []byte(b.String())
}

// margin is what stands before a line that belongs to a key. Below the name of an entry, which is commented
// out itself, it begins with a # of its own.
func margin(key string) string {
	before, below, isEntry := strings.Cut(key, anyName)
	indent := strings.Repeat("  ", strings.Count(before, "."))
	if !isEntry || below == "" {
		return indent
	}
	return indent + "#" + strings.Repeat("  ", strings.Count(below, "."))
}

// openSections writes the headings that lead from one section to the next and returns the latter.
func openSections(b *strings.Builder, from, to string) string {
	if from == to {
		return to
	}
	if parent := parentOf(to); parent != "" && from != parent && !strings.HasPrefix(from, parent+".") {
		openSections(b, from, parent)
	}
	name := to[strings.LastIndex(to, ".")+1:]
	if name == anyName {
		name = "#<name>"
	}
	fmt.Fprintf(b, "\n%s# %s\n%s%s:\n", margin(to), sectionDocs[to], margin(to), name)
	return to
}

// help is the description with allowed texts, bounds, and whether a reload takes it over.
func (f *field) help() string {
	text := f.doc
	if words := f.words(); len(words) > 0 {
		text += " One of " + strings.Join(words, ", ") + "."
	}
	if low, high := f.bounds(); high != "" {
		text += fmt.Sprintf(" From %s to %s.", low, high)
	} else if low != "" {
		text += fmt.Sprintf(" At least %s.", low)
	}
	if f.live {
		text += " (reload)"
	}
	return text
}

// words are the texts that the key takes, but for the empty one.
func (f *field) words() []string {
	var words []string
	for _, word := range f.enum {
		if word != "" {
			words = append(words, word)
		}
	}
	return words
}

// bounds renders the bounds of a numeric key; empty where there is none.
func (f *field) bounds() (low, high string) {
	format := func(n int64) string { return fmt.Sprint(n) }
	switch f.zero().(type) {
	case *time.Duration:
		format = func(n int64) string { return schema.FormatDuration(time.Duration(n)) }
	case *int64:
		format = schema.FormatSize
	}
	if f.max > 0 {
		return format(f.min), format(f.max)
	}
	if f.min > 0 {
		return format(f.min), ""
	}
	return "", ""
}

// sample is the default as it stands behind the colon.
func (f *field) sample(defaults *Config) string {
	switch ref := f.ref(defaults).(type) {
	case *string:
		if *ref == "" {
			return `""`
		}
		return *ref
	case *[]string:
		return "[" + strings.Join(*ref, ", ") + "]"
	case *[]core.AutoAnswerRule, *[]Endpoint:
		return "[]"
	case *Secret:
		return `""`
	case *Env, *Block:
		return "{}"
	}
	return f.text(defaults)
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
