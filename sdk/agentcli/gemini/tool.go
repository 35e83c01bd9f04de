package gemini

import (
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxTools bounds the tools that are remembered as announced: the oldest make room.
const maxTools = 16

// tool is a tool that gemini announced by a hook. A model may call several at once.
type tool struct {
	Name  string         `json:"name"`
	Input wire.ToolInput `json:"input,omitempty"`
}

// is reports whether the tool is one of a name and an input.
func (t *tool) is(name string, input wire.ToolInput) bool {
	return t.Name == name && reflect.DeepEqual(t.Input, input)
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

// fits reports whether a dialog with a first row may be about the tool: a command has a dialog of its own, and what a file is to hold
// may be the words of a command.
func (t *tool) fits(first string) bool {
	_, command := t.Input["command"]
	kind, marked := strings.CutPrefix(first, "? ")
	return !marked || strings.HasPrefix(kind, "Shell") == command // what follows may stand right behind it
}

// standsFor returns the tool that a dialog is about, by its words: the longest that stand in it. Of a dialog that leaves a part of them
// out it is the only one whose words have what is shown. Nil if there is none, or if that is true of others as well.
func standsFor(tools []tool, now *dialog.Standing) *tool {
	if now.Clipped() {
		return nil // the words of another may be what is left
	}
	first, rest, _ := strings.Cut(unplaced(now.Text), "\n")
	tools = slices.DeleteFunc(slices.Clone(tools), func(t tool) bool { return !t.fits(first) })
	if at := cutRow.FindStringIndex(rest); at != nil {
		return hasPart(tools, screen.Solid(question.ReplaceAllString(rest[:at[0]]+rest[at[1]:], "")))
	}
	shown, longest := screen.Solid(first+"\n"+rest), 0
	var found *tool
	for i := range tools {
		switch words := screen.Solid(tools[i].words()); {
		case len(words) == 0 || len(words) < longest || !strings.Contains(shown, words):
		case len(words) > longest:
			found, longest = &tools[i], len(words)
		case found != nil && !found.is(tools[i].Name, tools[i].Input):
			found = nil // the words are of both
		}
	}
	return found
}

// hasPart returns the tool whose words have a part, or nil if others have it as well.
func hasPart(tools []tool, part string) *tool {
	var found *tool
	for i := range tools {
		switch words := screen.Solid(tools[i].words()); {
		case part == "" || !strings.Contains(words, part):
		case found == nil:
			found = &tools[i]
		case !found.is(tools[i].Name, tools[i].Input):
			return nil
		}
	}
	return found
}

var (
	// cutRow stands in a dialog that leaves out what comes before, or behind.
	cutRow = regexp.MustCompile(`(?m)^\.\.\. (first|last) \d+ lines? hidden.*$`)
	// question ends a dialog.
	question = regexp.MustCompile(`\n[^\n]*\?$`)
)

// without returns the tools but for the first of a name and an input, or of the name if there is no such input.
func without(tools []tool, name string, input wire.ToolInput) []tool {
	at := -1
	for i := range tools {
		if tools[i].Name != name {
			continue
		}
		if tools[i].is(name, input) {
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

// counter is which of several waiting dialogs stands, at the end of its first line. Where what stands in front of it takes its place it
// goes on in the next one.
var counter = regexp.MustCompile(`^[^\n]*?(?:[^\S\n]|…)(\d{1,3}) of(?: (\d{1,3})(?:\n|$)|\n(?:[^\n]*\s)?(\d{1,3})(?:\n|$))`)

// placeOf returns which of several waiting dialogs stands, as "2 of 3"; empty if it is the only one, or that cannot be read.
func placeOf(now *dialog.Standing) string {
	if m := counter.FindStringSubmatch(now.Text); m != nil {
		return m[1] + " of " + m[2] + m[3]
	}
	return ""
}

// inFront reports whether a dialog at a place is in front of the one at another, which gemini then took no answer for: those of tools that
// come to ask later are.
func inFront(place, of string) bool {
	number := func(place string) int {
		first, _, _ := strings.Cut(place, " ")
		n, _ := strconv.Atoi(first)
		return n
	}
	return place != "" && of != "" && number(place) < number(of)
}

// unplaced returns the words of a dialog without its place, in whose stead something stands that is in no input.
func unplaced(text string) string {
	const nothing = "\x00"
	m := counter.FindStringSubmatchIndex(text)
	switch {
	case m == nil:
		return text
	case m[4] >= 0:
		return text[:m[2]] + nothing + text[m[5]:]
	}
	first, _, _ := strings.Cut(text[m[2]:m[6]], "\n")
	between := text[m[2]+len(first)+1 : m[6]] // of the row that the place goes on in
	if strings.TrimSpace(between) == "" {
		return text[:m[2]] + nothing + text[m[7]:]
	}
	return text[:m[2]] + nothing + "\n" + between + nothing + text[m[7]:]
}

// isOf reports whether a dialog is that of a prompt, where several tools wait to be asked about: by its words, as far as they show that.
// Those of a question are the first of several.
func isOf(p *runtime.Prompt, tools []tool, now *dialog.Standing) bool {
	if len(tools) < 2 {
		return true
	}
	if about := standsFor(tools, now); about != nil {
		return about.Name == p.Tool && about.words() == (&tool{p.Tool, p.Input}).words()
	}
	return placeOf(now) != "" || p.Tool == questionTool || p.Tool == "" && screen.Solid(p.Text) == screen.Solid(now.Text)
}

// twice reports whether the tool of a prompt is called several times: their dialogs are told apart by their places alone.
func twice(p *runtime.Prompt, tools []tool) bool {
	n := 0
	for i := range tools {
		if tools[i].is(p.Tool, p.Input) {
			n++
		}
	}
	return n > 1
}
