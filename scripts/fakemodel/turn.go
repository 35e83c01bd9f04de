package fakemodel

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// kind is the kind of the next answer.
type kind string

const (
	kindText kind = "text" // the answer of the turn
	kindTool kind = "tool" // a call of the shell tool
	kindRead kind = "read" // a call of the tool that reads a file, or of the shell where there is none
	kindAsk  kind = "ask"  // a call of the tool that asks the user
	kindCall kind = "call" // a call of any tool
	kindSide kind = "side" // an answer in the shape of a schema, beside the conversation
	kindFail kind = "fail" // an error that was asked for
)

// turn is where a conversation stands.
type turn struct {
	user       string   // the last text of the user, without what the program adds
	results    []string // of the tools called since then
	directives Directives
}

// step is the next step of the model: a command for kindTool, a path for kindRead, a question for kindAsk, the name of a
// tool for kindCall, otherwise a text.
type step struct {
	kind  kind
	text  string
	input object // of kindCall
	with  []Call // in the same message, where that can be: else they come one after the other
}

// calls reports whether the step calls a tool, and is not the end of a turn.
func (s step) calls() bool {
	return s.kind == kindTool || s.kind == kindRead || s.kind == kindAsk || s.kind == kindCall
}

// next decides the step. A tool that the program does not offer is not called; the answer comes instead.
func (t turn) next(shell, ask bool) step {
	d := t.directives
	switch {
	case len(t.results) < len(d.Calls):
		call := d.Calls[len(t.results)]
		s := step{kind: kindCall, text: call.Tool, input: call.Input}
		if d.Together {
			s.with = d.Calls[len(t.results)+1:]
		}
		return s
	case d.Ask != nil && len(t.results) == 0:
		if ask {
			return step{kind: kindAsk, text: *d.Ask}
		}
	case d.Tools != nil:
		if shell && len(t.results) < *d.Tools {
			return step{kind: kindTool, text: fmt.Sprintf("echo hi-%d", len(t.results)+1)}
		}
	case shell:
		if calls, done := d.calls(), len(t.results)-len(d.Calls); done < len(calls) {
			return calls[done]
		}
	}
	return step{kind: kindText, text: t.answer()}
}

// calls are what READ and USE_TOOL ask for, in order.
func (d *Directives) calls() []step {
	var calls []step
	if d.Read != nil {
		calls = append(calls, step{kind: kindRead, text: *d.Read})
	}
	if d.UseTool {
		calls = append(calls, step{kind: kindTool, text: d.Command})
	}
	return calls
}

// maxResult is how much of a tool's result an answer repeats, in characters.
const maxResult = 400

func (t turn) answer() string {
	d := t.directives
	var b strings.Builder
	if d.Say != nil {
		b.WriteString(*d.Say)
	} else {
		b.WriteString("ANSWER[" + t.user + "]")
	}
	if d.Slow != nil {
		for i := 1; i <= int(d.Slow.Seconds()*4); i++ {
			fmt.Fprintf(&b, " slow%d", i)
		}
	}
	if n := len(t.results); n > 0 && d.Quote == nil {
		result := []rune(strings.TrimSpace(t.results[n-1]))
		b.WriteString(" TOOL_RESULT[" + string(result[:min(len(result), maxResult)]) + "]")
	}
	if d.Quote != nil {
		b.WriteString(" QUOTED[" + t.quote(*d.Quote) + "]")
	}
	if d.Lines > 0 {
		b.WriteString("\n")
		for i := 1; i <= d.Lines; i++ {
			fmt.Fprintf(&b, "line %05d of the long answer", i)
			if i < d.Lines {
				b.WriteString("\n")
			}
		}
	}
	b.WriteString(strings.Repeat(" word", d.Loop))
	if d.Report != nil {
		b.WriteString("\n\n```wardroom\n" + *d.Report + "\n```")
	}
	return b.String()
}

// maxQuoted is how many lines of results an answer quotes.
const maxQuoted = 20

// quote finds the lines of the results that hold words.
func (t turn) quote(words string) string {
	var lines []string
	for _, result := range t.results {
		for line := range strings.Lines(result) {
			if line = strings.TrimSpace(line); strings.Contains(line, words) && len(lines) < maxQuoted {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, " | ")
}

// catCommand reads a file with a shell.
func catCommand(path string) string { return "cat '" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// piece is a part of a streamed text, and the pause after it.
type piece struct {
	text  string
	pause time.Duration
}

// middle is where STALL stops and CUT ends: the bytes of a text up to a number of characters, or half of it.
func middle(text string, after int) int {
	runes := []rune(text)
	if after < 0 {
		after = len(runes) / 2
	}
	return len(string(runes[:min(after, len(runes))]))
}

// Streamed texts come in about this many pieces, none shorter than the least, in characters.
const (
	manyPieces = 64
	leastPiece = 24
)

// pieces cuts a text for a stream: into words over the time of SLOW, otherwise into about equal parts.
func pieces(text string, slow *time.Duration, delay time.Duration) []piece {
	if slow != nil {
		parts := words(text)
		out := make([]piece, len(parts))
		for i, part := range parts {
			out[i] = piece{part, *slow / time.Duration(len(parts))}
		}
		return out
	}
	runes := []rune(text)
	size := max(leastPiece, len(runes)/manyPieces)
	out := make([]piece, 0, len(runes)/size+1)
	for len(runes) > size {
		out = append(out, piece{string(runes[:size]), delay})
		runes = runes[size:]
	}
	return append(out, piece{string(runes), delay})
}

// words cuts behind each run of spaces; there is at least one part, and joined they are the text.
func words(text string) []string {
	var parts []string
	start, space := 0, false
	for i, r := range text {
		if unicode.IsSpace(r) {
			space = true
		} else if space {
			parts = append(parts, text[start:i])
			start, space = i, false
		}
	}
	return append(parts, text[start:])
}

// added are the blocks that the programs put beside the words of the user.
var added = func() []*regexp.Regexp {
	names := []string{
		"system-reminder", "environment_context", "user_instructions", "session_context", "permissions instructions",
		"recommended_plugins", "skills_instructions", "local-command-caveat", "ide_context", "turn_aborted", "hook_context",
	}
	blocks := make([]*regexp.Regexp, len(names))
	for i, name := range names {
		blocks[i] = regexp.MustCompile(`(?s)<` + name + `\b[^>]*>.*?</` + name + `>`)
	}
	return blocks
}()

// clean is a text without the blocks that the program added.
func clean(text string) string {
	if strings.Contains(text, "</") {
		for _, block := range added {
			text = block.ReplaceAllString(text, "")
		}
	}
	return strings.TrimSpace(text)
}

// tokens estimates tokens from bytes, for the usage that the programs show.
func tokens(bytes int) int { return max(1, bytes/4) }
