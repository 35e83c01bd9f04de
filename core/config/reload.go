package config

import (
	"reflect"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// Reloadable is what a running process takes over on SIGHUP. All other keys wait for a restart; see
// NeedsRestart.
type Reloadable struct {
	LogLevel      string
	Hosts         []string
	CORS          CORS
	Connections   ConnectionLimits
	MetricsPublic bool
	Retention     Retention
	Engine        Engine
	Threads       Threads // but for Root, which stays as it is
	Webhooks      Webhooks
	Agents        AgentLimits
	Streams       Streams
}

// Reloadable returns the part of c that may change while the process runs.
func (c *Config) Reloadable() Reloadable {
	return Reloadable{
		LogLevel:      c.Log.Level,
		Hosts:         slices.Clone(c.Server.Hosts),
		CORS:          CORS{Origins: append([]string(nil), c.Server.CORS.Origins...)},
		Connections:   c.Server.ConnectionLimits,
		MetricsPublic: c.Metrics.Public,
		Retention:     c.Store.Retention,
		Engine:        c.Engine,
		Threads:       c.clone().Threads,
		Webhooks:      c.Webhooks,
		Agents:        c.Agents.AgentLimits,
		Streams:       c.Streams,
	}
}

// With returns a copy of c that has r in place of its reloadable part: what is in effect after a reload,
// while the other keys wait for a restart.
func (c *Config) With(r Reloadable) *Config {
	next := *c
	next.Log.Level = r.LogLevel
	next.Server.Hosts = r.Hosts
	next.Server.CORS = r.CORS
	next.Server.ConnectionLimits = r.Connections
	next.Metrics.Public = r.MetricsPublic
	next.Store.Retention = r.Retention
	next.Engine = r.Engine
	next.Threads = r.Threads
	next.Threads.Root = c.Threads.Root
	next.Webhooks = r.Webhooks
	next.Agents.AgentLimits = r.Agents
	next.Streams = r.Streams
	return &next
}

// Change is one key that differs between two configurations.
type Change struct {
	Key      string `json:"key"`
	Old      string `json:"old"` // as it would be written in the file; never a secret
	New      string `json:"new"`
	Reloaded bool   `json:"reloaded"` // takes effect on SIGHUP; else it waits for a restart
}

// Changes returns the keys whose values differ: entries that came or went, then keys in the order of the table.
func Changes(prev, next *Config) []Change {
	var changes []Change
	for _, l := range collections {
		for _, name := range l.union(prev, next) {
			was, is := l.has(prev, name), l.has(next, name)
			if was != is {
				changes = append(changes, Change{Key: join(l.section, name), Old: presence(was), New: presence(is), Reloaded: l.live})
			}
		}
	}
	for _, f := range fieldsOf(prev, next) {
		if !f.equal(prev, next) {
			changes = append(changes, Change{Key: f.key, Old: f.text(prev), New: f.text(next), Reloaded: f.live})
		}
	}
	return changes
}

func presence(there bool) string {
	if there {
		return "declared"
	}
	return "absent"
}

// NeedsRestart returns the dotted keys that differ and that a reload leaves as they are.
func NeedsRestart(prev, next *Config) []string {
	var keys []string
	for _, change := range Changes(prev, next) {
		if !change.Reloaded {
			keys = append(keys, change.Key)
		}
	}
	return keys
}

// equal compares the values of the key; an empty list is equal to none.
func (f *field) equal(a, b *Config) bool {
	left, right := f.ref(a), f.ref(b)
	switch left := left.(type) {
	case *[]string:
		if len(*left) == 0 {
			return len(*right.(*[]string)) == 0
		}
	case *[]core.AutoAnswerRule:
		if len(*left) == 0 {
			return len(*right.(*[]core.AutoAnswerRule)) == 0
		}
	case *[]Endpoint:
		return equalEndpoints(*left, *right.(*[]Endpoint))
	case *Secret:
		return left.Equal(*right.(*Secret))
	case *Env:
		return left.equal(*right.(*Env))
	case *Block:
		return left.equal(*right.(*Block))
	}
	return reflect.DeepEqual(left, right)
}
