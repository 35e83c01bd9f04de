package cmd

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wardroom/wardroom/sdk/client"
)

// What the external tests reach.
var (
	BatchInputs = batchInputs
	ExitCode    = exitCode
	YAMLNode    = yamlNode
	Clean       = clean[string]
	Span        = span
)

// PickJSON returns the values at a path into a document.
func PickJSON(path string, doc json.RawMessage) ([]string, error) {
	p, err := parseJSONPath(path)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, value := range p.pick(doc) {
		texts = append(texts, string(value))
	}
	return texts, nil
}

// Detach feeds pieces of typing to a matcher of the named keys.
func Detach(names string, pieces ...[]byte) (passed string, detached bool, err error) {
	keys, err := parseKeys(names)
	if err != nil {
		return "", false, err
	}
	m := detachMatcher{keys: keys}
	for _, piece := range pieces {
		pass, left := m.feed(piece)
		passed += string(pass)
		if left {
			return passed, true, nil
		}
	}
	return passed, false, nil
}

// Undocumented returns the commands and flags that text does not mention.
func Undocumented(text string) (missing []string) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || strings.HasPrefix(cmd.CommandPath(), "wardroom completion ") {
			return
		}
		_, section, found := strings.Cut(text, "\n### `"+cmd.CommandPath())
		if !found && cmd.HasParent() {
			missing = append(missing, "`"+cmd.CommandPath()+"`")
		}
		section, _, _ = strings.Cut(section, "\n#")
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !strings.Contains(section, "--"+f.Name) {
				missing = append(missing, cmd.CommandPath()+" --"+f.Name)
			}
		})
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(New(Deps{}))
	return missing
}

// DrawTimeline draws a timeline as a live tree of so many lines (0: all of it) would be.
func DrawTimeline(t *client.Timeline, width, height int, unicode bool) []string {
	s := timelineStyle{paint: func(_ style, text string) string { return text }, width: width, unicode: unicode, spin: -1}
	tree := newTimelineTree(t, nil)
	if height == 0 {
		return tree.draw(&s, tree.lines(&s), 0)
	}
	return tree.draw(&s, tree.fit(&s, height), 0)
}

// WrapColumns breaks a text into lines.
func WrapColumns(text string, columns int) []string { return wrapColumns(text, columns) }
