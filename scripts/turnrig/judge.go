package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/wire"
)

// names finds the names of turns in a text.
var names = regexp.MustCompile(`turn-[a-z]+-\d+-\d+`)

// stranger returns the name of another turn in a text, or "".
func stranger(text, own string) string {
	for _, name := range names.FindAllString(text, -1) {
		if name != own {
			return name
		}
	}
	return ""
}

// squeezed is a text by its words: command lines trim and join white space.
func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }

// judge returns what is wrong with the response of a turn, or "". struck says that something was killed while it ran
// that may have ended it.
func (t *turn) judge(r *wire.TurnResponse, struck bool) string {
	if other := stranger(r.Text, t.name); other != "" {
		return fmt.Sprintf("misattributed: it has the answer of %s: %.300q", other, r.Text)
	}
	if e := r.Error; e != nil {
		switch {
		case r.Text != "":
			return fmt.Sprintf("a failed turn has a text: %.200q", r.Text)
		case slices.Contains(t.script.codes, e.Code):
			return ""
		case struck && slices.Contains([]string{wire.TurnAgentEnded, wire.TurnUnknown}, e.Code):
			return ""
		}
		return fmt.Sprintf("it failed with %s: %.300s", e.Code, e.Message)
	}
	if t.hung && r.Interrupted && r.Text == "" {
		return ""
	}
	if len(t.script.codes) > 0 && !slices.Contains(t.script.codes, "") {
		return fmt.Sprintf("an error of the model became the answer %.300q (interrupted %t, refused %t)", r.Text, r.Interrupted, r.Refused)
	}
	switch t.script.act {
	case interrupt:
		if !r.Interrupted {
			return fmt.Sprintf("interrupted is not told; text %.200q", r.Text)
		}
		return ""
	case refuse, refuseSay:
		if !r.Refused {
			return fmt.Sprintf("refused is not told; text %.200q, interrupted %t", r.Text, r.Interrupted)
		}
		if _, err := os.Stat(t.file); err == nil {
			return "what was refused was done"
		}
		return ""
	case allow:
		if _, err := os.Stat(t.file); err != nil {
			return "what was allowed was not done"
		}
	}
	switch {
	case r.Interrupted && !struck, r.Refused:
		return fmt.Sprintf("interrupted %t, refused %t", r.Interrupted, r.Refused)
	case r.Interrupted:
		return ""
	case t.exact() && squeezed(r.Text) != squeezed("ANSWER["+t.text+"]"):
		return fmt.Sprintf("the answer is %.300q", r.Text)
	case !strings.Contains(r.Text, t.name):
		return fmt.Sprintf("the answer is of nobody: %.300q", r.Text)
	case t.script.kind == "long" && strings.Count(r.Text, "\n") < 399:
		return fmt.Sprintf("the answer has %d lines", strings.Count(r.Text, "\n")+1)
	}
	return ""
}
