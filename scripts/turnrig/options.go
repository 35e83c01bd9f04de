package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

// options are the flags.
type options struct {
	turns, agents, burners int
	freshEvery             int
	tools, kinds           []string
	seed                   uint64
	killEvery, limit       time.Duration
	binary                 string
	keep, verbose          bool
}

// check returns what is wrong with the flags.
func (o *options) check() error {
	var problems []error
	if o.turns < 1 || o.agents < 1 || o.burners < 0 || o.killEvery < 0 || o.limit < 0 || o.freshEvery < 0 {
		problems = append(problems, errors.New("-turns and -agents must be at least 1, the rest at least 0, and there are no arguments"))
	}
	for _, name := range o.tools {
		if fakemodel.Env(name, "") == nil {
			problems = append(problems, fmt.Errorf("-clis: %q is none of claude, codex and gemini", name))
		}
	}
	for _, name := range o.kinds {
		if !slices.ContainsFunc(scripts, func(s script) bool { return s.kind == name }) {
			problems = append(problems, fmt.Errorf("-kinds: there is no kind %q", name))
		}
	}
	return errors.Join(problems...)
}
