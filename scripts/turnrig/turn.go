package main

import (
	"fmt"
	"strings"
	"time"
)

// turn is one scripted turn of an agent.
type turn struct {
	script *script
	name   string // in every text of it
	text   string // the message
	file   string // that a tool of it may make
	began  time.Time
	took   time.Duration

	struck  bool   // something was killed that may have ended it
	jolted  bool   // the core or the plugin was killed while it ran, which must not end it
	unknown bool   // the caller heard that it may have been taken, and that cannot be found out
	hung    bool   // it was interrupted because gemini did nothing for ever
	cut     bool   // the rig was ended within it
	number  int    // of the turn at the agent, once it is known
	answer  string // of its response
	typed   string // what a person typed just before it
	wrong   string // what is wrong with it; empty: nothing
}

// exact reports whether the answer repeats the message and nothing else.
func (t *turn) exact() bool {
	switch t.script.kind {
	case "answer", "lines", "think", "typed-before", "draft-before", "error-429-once", "error-500-once", "error-529-once":
		return true
	}
	return false
}

// fail notes what is wrong; the first thing counts.
func (t *turn) fail(format string, args ...any) {
	if t.wrong == "" {
		t.wrong = fmt.Sprintf(format, args...)
	}
}

func (t *turn) String() string {
	return fmt.Sprintf("%s (%s) %.80q", t.name, t.script.kind, strings.ReplaceAll(t.text, "\n", " "))
}
