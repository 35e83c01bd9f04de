package fakemodel

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of what a directive may ask for.
const (
	maxPause = 120 * time.Second
	maxLines = 20000
	maxTools = 50
	maxTimes = 1000
)

// Directives holds what a user text asks the endpoint to do.
type Directives struct {
	Say      *string        // answer exactly this
	Ask      *string        // ask the user this
	UseTool  bool           // call the shell tool once
	Command  string         // of that call; never empty when UseTool is set
	Tools    *int           // number of shell calls one after the other, 0 to 50
	Read     *string        // read this file with the program's own tool, before any shell call
	Calls    []Call         // tools to call first, one after the other
	Together bool           // call them in one message, where the API is Anthropic's
	Quote    *string        // quote the lines of tool results that hold this
	Report   *string        // end the answer with this as the structured block of a thread's report
	Escalate bool           // ask to run outside the sandbox
	Slow     *time.Duration // stream the answer over this time
	Lines    int            // numbered lines that follow the answer
	Think    bool           // a thinking block first
	Loop     int            // words that follow the answer, all the same
	Fail     int            // HTTP status to fail with, or 0
	Why      string         // words in the message of that error
	Cut      *int           // break the connection off after this many characters of the answer; negative: after half of it
	Times    int            // FAIL and CUT concern only so many requests with the same user text; 0: all
	Hang     time.Duration  // silence before the answer
	Stall    time.Duration  // silence in the middle of the answer
	Hold     *string        // gate to wait at
}

// Call is a call of a tool of the program by its name.
type Call struct {
	Tool  string
	Input map[string]any // never nil
}

// calls reads the directives CALL: a name, and behind a space the input as a JSON object. Those without one are text.
func calls(values []span) []Call {
	var all []Call
	for _, s := range values {
		if s.name != "CALL" {
			continue
		}
		name, input, _ := strings.Cut(strings.TrimSpace(s.value), " ")
		call := Call{Tool: name}
		if name != "" && json.Unmarshal([]byte(input), &call.Input) == nil && call.Input != nil {
			all = append(all, call)
		}
	}
	return all[:min(len(all), maxTools)]
}

// valued are the names that may carry a value in brackets.
var valued = map[string]bool{
	"SAY": true, "ASK": true, "USE_TOOL": true, "USE_TOOLS": true, "SLOW": true, "LONG": true, "FAIL": true,
	"HANG": true, "HOLD": true, "READ": true, "QUOTE": true, "REPORT": true, "LOOP": true, "CUT": true, "TIMES": true, "STALL": true,
	"CALL": true,
}

// bare finds the directives without a value, as whole words.
var bare = regexp.MustCompile(`\b(USE_TOOL|ESCALATE|THINK|CUT|TOGETHER)\b`)

// ParseDirectives finds the directives of a text. The first of a name counts. What is malformed is text, and a
// number that is none counts as 0, apart from FAIL where it means 500.
func ParseDirectives(text string) Directives {
	values, rest := bracketed(text)
	var d Directives
	word := map[string]bool{}
	for _, name := range bare.FindAllString(rest, -1) {
		word[name] = true
	}
	d.Say, d.Ask, d.Hold = value(values, "SAY"), value(values, "ASK"), value(values, "HOLD")
	d.Read, d.Quote, d.Report = value(values, "READ"), value(values, "QUOTE"), value(values, "REPORT")
	d.Calls = calls(values)
	command := value(values, "USE_TOOL")
	d.UseTool = command != nil || word["USE_TOOL"]
	d.Escalate, d.Think, d.Together = word["ESCALATE"], word["THINK"], word["TOGETHER"]
	if d.UseTool {
		d.Command = "echo hi"
		if command != nil && *command != "" {
			d.Command = *command
		}
	}
	if v := value(values, "USE_TOOLS"); v != nil {
		n := int(number(*v, 0, maxTools, 0))
		d.Tools = &n
	}
	if v := value(values, "SLOW"); v != nil {
		slow := seconds(*v)
		d.Slow = &slow
	}
	if v := value(values, "LONG"); v != nil {
		d.Lines = int(number(*v, 0, maxLines, 0))
	}
	if v := value(values, "LOOP"); v != nil {
		d.Loop = int(number(*v, 0, maxLines, 0))
	}
	if v := value(values, "FAIL"); v != nil {
		code, why, _ := strings.Cut(strings.TrimSpace(*v), " ")
		d.Fail, d.Why = int(number(code, 400, 599, 500)), strings.TrimSpace(why)
	}
	if v := value(values, "CUT"); v != nil || word["CUT"] {
		half := -1
		d.Cut = &half
		if v != nil {
			*d.Cut = int(number(*v, 0, math.MaxInt32, -1))
		}
	}
	if v := value(values, "TIMES"); v != nil {
		d.Times = int(number(*v, 0, maxTimes, 0))
	}
	if v := value(values, "HANG"); v != nil {
		d.Hang = seconds(*v)
	}
	if v := value(values, "STALL"); v != nil {
		d.Stall = seconds(*v)
	}
	return d
}

// span is a directive with a value: text[start:end] is NAME[value].
type span struct {
	start, end  int
	name, value string
}

// bracketed finds the outermost directives with a value, and the text without them. Brackets within a value
// must balance; one that never closes opens nothing. It takes one pass, whatever the text.
func bracketed(text string) (values []span, rest string) {
	var open []int
	var all []span
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[':
			open = append(open, i)
		case ']':
			if len(open) == 0 {
				continue
			}
			at := open[len(open)-1]
			open = open[:len(open)-1]
			if name := wordBefore(text, at); valued[name] {
				all = append(all, span{start: at - len(name), end: i + 1, name: name, value: text[at+1 : i]})
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.start - b.start })
	var without strings.Builder
	end := 0
	for _, s := range all {
		if s.start < end {
			continue // within the value of an outer one
		}
		values = append(values, s)
		without.WriteString(text[end:s.start])
		without.WriteByte(' ') // what stood on both sides does not become one word
		end = s.end
	}
	without.WriteString(text[end:])
	return values, without.String()
}

// wordBefore is the word that ends at a position. It looks back no further than the longest name plus one, so
// that a long word costs nothing and does not end in a name by chance.
func wordBefore(text string, at int) string {
	const longest = len("USE_TOOLS")
	start := at
	for start > 0 && at-start <= longest && wordByte(text[start-1]) {
		start--
	}
	return text[start:at]
}

func wordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

func value(values []span, name string) *string {
	for _, s := range values {
		if s.name == name {
			return &s.value
		}
	}
	return nil
}

// number reads a decimal and keeps it between low and high.
func number(text string, low, high, otherwise float64) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) {
		return otherwise
	}
	return max(low, min(high, n))
}

func seconds(text string) time.Duration {
	return time.Duration(number(text, 0, maxPause.Seconds(), 0) * float64(time.Second))
}
