package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/wardroom/wardroom/sdk/wire"
)

// script is one kind of turn: what is said to the agent, and what must come of it when nothing is killed.
type script struct {
	kind   string
	weight int // how often, of the sum of all
	// only names the command lines that have it; empty: all.
	only string
	// text returns the directives that make the model do it; file is one that a tool may make.
	text func(tool, file string, random *rand.Rand) string
	act  action
	// codes are those of the errors that the turn may fail with; empty: it must not fail.
	codes []string
	// slow says that it is left to -kinds for gemini.
	slow bool
	// rare names the command lines that try so often and long that it is one turn in rarely of its weight.
	rare string
	// login says that the agent needs a restart afterwards: it was told to log in.
	login bool
	// spent says that gemini needs a new session afterwards: with the quota of all its models used up, and told to stop, it
	// does nothing for ever at the next refusal of the same session.
	spent bool
}

// action is what happens while the turn runs.
type action int

const (
	nothing     action = iota
	allow              // its approval is allowed
	refuse             // its approval is refused
	refuseSay          // its approval is refused with a reason
	reply              // its question is answered
	interrupt          // it is interrupted once the model has it
	typedBefore        // somebody types a message of their own just before
	draftBefore        // somebody leaves a draft in the line just before
	keepLooping        // whatever is asked about a loop is answered with its first option
	giveUp             // whatever is asked about a quota is answered with its last option
)

// asking makes a tool call that needs leave.
func asking(tool, file string) string {
	if tool == "codex" {
		return "ESCALATE USE_TOOL[touch " + file + "]"
	}
	return "USE_TOOL[touch " + file + "]"
}

func says(directives string) func(string, string, *rand.Rand) string {
	return func(string, string, *rand.Rand) string { return directives }
}

// unavailable holds the codes of a turn whose provider fails, or breaks off: the command lines tell them apart by
// different signs.
var unavailable = []string{wire.TurnModelUnavailable, wire.TurnModelCut}

// limited holds the codes of a turn whose provider refuses for a while.
var limited = []string{wire.TurnModelRateLimited, wire.TurnModelUnavailable}

// scripts are all kinds. The tools repeat failed requests by themselves: gemini for many minutes, also with another model,
// whatever general.maxAttempts of its settings says, so what the provider goes on refusing is left to -kinds for it; codex
// never after a 429.
var scripts = []script{
	{kind: "answer", weight: 30, text: says("")},
	{kind: "lines", weight: 6, text: says("\nsecond line, with ümlauts and 日本語\n\tthird")},
	{kind: "long", weight: 2, text: says("LONG[400]")},
	{kind: "slow", weight: 4, text: says("SLOW[2]")},
	{kind: "think", weight: 2, text: says("THINK")},
	{kind: "tool-allowed", weight: 8, act: allow, text: func(tool, file string, _ *rand.Rand) string { return asking(tool, file) }},
	{kind: "tool-refused", weight: 8, act: refuse, text: func(tool, file string, _ *rand.Rand) string { return asking(tool, file) }},
	{kind: "tool-refused-with-reason", weight: 5, act: refuseSay, text: func(tool, file string, _ *rand.Rand) string { return asking(tool, file) }},
	{kind: "question", weight: 4, act: reply, text: says("ASK[which one?]")},
	{kind: "interrupt", weight: 6, act: interrupt, text: says("SLOW[60]")},
	{kind: "tools", weight: 2, only: "claude codex", text: says("USE_TOOLS[4]")},
	{kind: "loop", weight: 1, act: keepLooping, text: says("LOOP[300]"), codes: []string{"", wire.TurnModelError}},
	{kind: "error-400", weight: 5, text: says("FAIL[400]"), codes: []string{wire.TurnModelError}},
	{kind: "error-401", weight: 1, text: says("FAIL[401]"), codes: []string{wire.TurnLoginRequired}, login: true},
	{kind: "error-429-once", weight: 2, only: "claude gemini", text: says("FAIL[429 Please retry in 0.2s] TIMES[1]")},
	{kind: "error-500-once", weight: 2, only: "claude codex", text: says("FAIL[500] TIMES[1]")},
	{kind: "error-529-once", weight: 2, only: "claude codex", text: says("FAIL[529] TIMES[1]")},
	{kind: "error-500", weight: 1, slow: true, rare: "codex", text: says("FAIL[500]"), codes: unavailable},
	{kind: "error-529", weight: 1, slow: true, rare: "codex", text: says("FAIL[529]"), codes: unavailable},
	{kind: "error-429", weight: 1, slow: true, text: says("FAIL[429]"), codes: limited},
	{kind: "error-429-told", weight: 1, only: "gemini", slow: true, text: says("FAIL[429 Please retry in 0.2s]"), codes: limited},
	{kind: "quota", weight: 1, act: giveUp, text: says("FAIL[429 limit: 0]"), codes: limited, spent: true},
	{kind: "cut", weight: 2, only: "claude codex", rare: "codex", text: says("CUT"), codes: append([]string{""}, unavailable...)},
	{kind: "typed-before", weight: 4, act: typedBefore, text: says("")},
	{kind: "draft-before", weight: 2, act: draftBefore, text: says("")},
}

// rarely is how much rarer a rare kind is.
const rarely = 5

// share is the weight of a kind for a command line, in parts of which no kind has less than one.
func (s *script) share(tool string) int {
	if strings.Contains(s.rare, tool) {
		return s.weight
	}
	return s.weight * rarely
}

// choose returns a kind for a command line, at random by weight.
func choose(tool string, kinds []string, random *rand.Rand) *script {
	var may []*script
	sum := 0
	for i := range scripts {
		s := &scripts[i]
		if s.only != "" && !strings.Contains(s.only, tool) || len(kinds) > 0 && !contains(kinds, s.kind) ||
			len(kinds) == 0 && s.slow && tool == "gemini" {
			continue
		}
		may, sum = append(may, s), sum+s.share(tool)
	}
	if sum == 0 {
		return nil
	}
	at := random.IntN(sum)
	for _, s := range may {
		if at -= s.share(tool); at < 0 {
			return s
		}
	}
	return nil // unreachable
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// message returns the words of a turn. The name is in no other, and begins it, so that what the model says shows whose
// turn it belongs to.
func message(name, directives string) string {
	return strings.TrimSpace(fmt.Sprintf("%s says %s", name, directives))
}
