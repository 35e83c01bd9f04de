package config

import (
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Validate checks every value and the relations between them. Load and Parse have done so already; it is
// for a Config that was put together in code. VALIDATION_ERROR lists every problem.
func (c *Config) Validate() error {
	var problems []Problem
	for _, l := range collections {
		for _, name := range l.names(c) {
			if err := l.check(name); err != nil {
				problems = append(problems, Problem{Key: join(l.section, name), Reason: err.Error()})
			}
		}
	}
	for _, f := range fieldsOf(c) {
		if err := f.valid(c); err != nil {
			problems = append(problems, Problem{Key: f.key, Reason: err.Error()})
		}
	}
	problems = append(problems, c.relations(problems)...)
	return asError(append(problems, c.entryRules(problems)...), nil)
}

// valid checks the value that c has for the key.
func (f *field) valid(c *Config) error {
	switch ref := f.ref(c).(type) {
	case *[]string:
		for _, text := range *ref {
			if err := f.checkText(text); err != nil {
				return err
			}
		}
		return nil
	case *Env:
		for _, name := range ref.Names() {
			if err := checkEnvName(name); err != nil {
				return err
			}
		}
		return nil
	case *[]core.AutoAnswerRule:
		if len(*ref) > maxRules {
			return fmt.Errorf("has %d rules; at most %d are allowed", len(*ref), maxRules)
		}
		for i, rule := range *ref {
			if name, err := checkRule(rule); err != nil {
				return fmt.Errorf("rule %d, %s: %w", i, name, err)
			}
		}
		return nil
	case *[]Endpoint:
		if len(*ref) > maxEndpoints {
			return fmt.Errorf("has %d endpoints; at most %d are allowed", len(*ref), maxEndpoints)
		}
		for i, e := range *ref {
			if err := e.valid(i); err != nil {
				return err
			}
		}
		return nil
	case *Secret, *Block:
		return nil
	}
	return f.set(c.clone(), "", f.text(c)) // set writes, and c may be shared
}

// relation is a rule between two keys.
type relation struct {
	low, high string // keys
	strict    bool   // low must be smaller; else it may be equal
	why       string
}

var relations = []relation{
	{low: "server.maxDefinition", high: "server.maxBody", why: "a definition travels in a body"},
	{low: "engine.defaultTimeout", high: "engine.maxTimeout", why: "the default must be allowed"},
	{low: "engine.taskTimeout", high: "engine.maxTimeout", why: "a task ends with its execution"},
	{low: "engine.maxTimeout", high: "store.retention.events", why: "a running execution needs its journal"},
	{low: "threads.workspaces.reserveTtl", high: "threads.workspaces.ttl", why: "a preparation is not kept longer than a thread's work"},
	{low: "threads.workspaces.maxBytes", high: "threads.workspaces.maxTotalBytes", why: "one workspace counts among all"},
	{low: "webhooks.maxPerEndpoint", high: "webhooks.maxConcurrent", why: "those of one endpoint count among all"},
	{low: "agents.unhealthyAfter", high: "agents.disconnectAfter", strict: true, why: "an agent is unhealthy before it is disconnected"},
	{low: "agents.keepDisconnected", high: "store.retention.agents", why: "an agent that is listed has a record"},
	{low: "streams.writeTimeout", high: "streams.heartbeat", why: "a write must end before the next heartbeat"},
	{low: "streams.heartbeat", high: "streams.maxAge", strict: true, why: "a stream lives longer than one heartbeat"},
}

// relations reports broken relations, each at a place that a file set, where the operator is at work. Keys
// that have a problem of their own are left out, and all of them when a whole file could not be read: c holds
// other values than those that were meant.
func (c *Config) relations(known []Problem) []Problem {
	wrong := map[string]bool{}
	for _, p := range known {
		if p.Key == "" {
			return nil
		}
		wrong[p.Key] = true
	}
	var problems []Problem
	for _, r := range relations {
		if wrong[r.low] || wrong[r.high] {
			continue
		}
		low, high := findField(r.low), findField(r.high)
		a, b := low.number(c), high.number(c)
		if a < b || (a == b && !r.strict) {
			continue
		}
		word := "at most"
		if r.strict {
			word = "less than"
		}
		key, reason := r.low, fmt.Sprintf("%s must be %s %s (%s): %s", low.text(c), word, r.high, high.text(c), r.why)
		at, ok := c.origins[r.low]
		if other, set := c.origins[r.high]; set && !ok {
			at, key = other, r.high
			reason = fmt.Sprintf("%s must be %s %s (%s): %s", high.text(c), opposite(r.strict), r.low, low.text(c), r.why)
		}
		problems = append(problems, Problem{File: at.file, Line: at.line, Key: key, Reason: reason})
	}
	return problems
}

func opposite(strict bool) string {
	if strict {
		return "more than"
	}
	return "at least"
}

// number is the value of a numeric key.
func (f *field) number(c *Config) int64 {
	switch ref := f.ref(c).(type) {
	case *int:
		return int64(*ref)
	case *int64:
		return *ref
	case *time.Duration:
		return int64(*ref)
	}
	return 0
}
