package gemini

import (
	"path"
	"reflect"
	"regexp"
	"strings"
	"unicode"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxTools bounds the tools that are remembered as announced: the oldest make room.
const maxTools = 16

// tool is a tool that gemini announced by a hook. A model may call several at once.
type tool struct {
	Name  string         `json:"name"`
	Input wire.ToolInput `json:"input,omitempty"`
}

// words returns what the dialog of a tool shows of its input; empty if that is not known.
func (t *tool) words() string {
	if t.Name == questionTool {
		if qs := dialog.Questions(t.Input); len(qs) > 0 {
			return qs[0].Text
		}
		return ""
	}
	for _, key := range []string{"command", "file_path", "prompt", "url"} {
		if s, _ := t.Input[key].(string); s != "" {
			if key == "file_path" {
				return path.Base(s)
			}
			return s
		}
	}
	return ""
}

// standsFor returns the tool that a dialog is about, by its words: the longest that stand in it. Nil if none do.
func standsFor(tools []tool, now *dialog.Standing) *tool {
	first, rest, _ := strings.Cut(now.Text, "\n")
	shown, longest := solid(counter.ReplaceAllString(first, "")+"\n"+rest), 0
	var found *tool
	for i := range tools {
		if words := solid(tools[i].words()); len(words) > longest && strings.Contains(shown, words) {
			found, longest = &tools[i], len(words)
		}
	}
	return found
}

// solid returns a text without what wraps it on a screen: white space.
func solid(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// without returns the tools but for the first of a name and an input, or of the name if there is no such input.
func without(tools []tool, name string, input wire.ToolInput) []tool {
	at := -1
	for i := range tools {
		if tools[i].Name != name {
			continue
		}
		if reflect.DeepEqual(tools[i].Input, input) {
			at = i
			break
		}
		if at < 0 {
			at = i
		}
	}
	if at < 0 {
		return tools
	}
	return append(tools[:at:at], tools[at+1:]...)
}

// counter is which of several waiting dialogs stands, at the end of its first line.
var counter = regexp.MustCompile(`\s(\d{1,3} of \d{1,3})$`)

// placeOf returns which of several waiting dialogs stands, as "2 of 3"; empty if it is the only one.
func placeOf(now *dialog.Standing) string {
	first, _, _ := strings.Cut(now.Text, "\n")
	if m := counter.FindStringSubmatch(first); m != nil {
		return m[1]
	}
	return ""
}
