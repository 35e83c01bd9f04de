package config

import (
	"fmt"
	"reflect"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// Validate checks every value and the relations between them. Load and Parse have done so already; it is
// for a Config that was put together in code. VALIDATION_ERROR lists every problem.
func (c *Config) Validate() error {
	var problems []Problem
	for _, l := range c.collections() {
		for _, name := range entryNames(l.entries) {
			if err := l.CheckEntry(name); err != nil {
				problems = append(problems, Problem{Key: schema.Join(l.path, name), Reason: err.Error()})
			}
		}
	}
	problems = validate(problems, c.keys())
	problems = append(problems, c.relations(problems)...)
	return asError(append(problems, c.entryRules(problems)...), nil)
}

// validate adds what is wrong with the values of keys.
func validate(problems []Problem, keys []key) []Problem {
	for _, k := range keys {
		if k.section {
			continue
		}
		if err := k.valid(); err != nil {
			problems = append(problems, Problem{Key: k.path, Reason: err.Error()})
			continue
		}
		for i := range k.items() {
			problems = validate(problems, k.item(i))
		}
	}
	return problems
}

// items is the number of structs in a list of them.
func (k *key) items() int {
	if k.IsStructs() {
		return k.value.Len()
	}
	return 0
}

// item returns the keys of one of the structs in a list.
func (k *key) item(i int) []key {
	return keysIn(fmt.Sprintf("%s[%d]", k.path, i), false, k.value.Index(i))
}

// valid checks the value of the key, but for what is in a list of structs.
func (k *key) valid() error {
	switch value := k.value.Interface().(type) {
	case []string:
		for _, text := range value {
			if err := rules.CheckText(k.Field, text); err != nil {
				return err
			}
		}
		return nil
	case map[string]string:
		for _, name := range sortedKeys(value) {
			if err := rules.CheckText(k.Field, name); err != nil {
				return fmt.Errorf("its name %w", err)
			}
			if err := rules.CheckText(k.Field, value[name]); err != nil && value[name] != "" {
				return err
			}
		}
		return nil
	case Env:
		return value.check()
	case Headers:
		return value.check()
	case Secret, Block:
		return nil
	}
	if k.IsStructs() {
		if reason := k.OutOf(int64(k.value.Len())); reason != "" {
			return fmt.Errorf("%s items, not %d", reason, k.value.Len())
		}
		return nil
	}
	return rules.Set(k.Field, reflect.New(k.Type).Elem(), "", k.text())
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
	keys := c.keys()
	for _, r := range relations {
		if wrong[r.low] || wrong[r.high] {
			continue
		}
		low, high := find(keys, r.low), find(keys, r.high)
		a, b := low.value.Int(), high.value.Int()
		if a < b || (a == b && !r.strict) {
			continue
		}
		word := "at most"
		if r.strict {
			word = "less than"
		}
		key, reason := r.low, fmt.Sprintf("%s must be %s %s (%s): %s", low.text(), word, r.high, high.text(), r.why)
		at, ok := c.places[r.low]
		if other, set := c.places[r.high]; set && !ok {
			at, key = other, r.high
			reason = fmt.Sprintf("%s must be %s %s (%s): %s", high.text(), opposite(r.strict), r.low, low.text(), r.why)
		}
		problems = append(problems, Problem{File: at.File, Line: at.Line, Column: at.Column, Key: key, Reason: reason})
	}
	return problems
}

func opposite(strict bool) string {
	if strict {
		return "more than"
	}
	return "at least"
}
