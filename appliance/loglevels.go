package appliance

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/wire"
)

// logLevels are the levels of the log by part. What is set for a part holds for those below it, such as plugins for
// plugins.docker, unless they have one of their own. Safe for concurrent use.
type logLevels struct {
	mu    sync.Mutex // guards all below
	base  hclog.Level
	own   map[string]hclog.Level   // by part, where one was set
	parts map[string]*atomic.Int32 // what is in effect, of each part that has logged or may; "" is all that has no part
}

func newLogLevels(c config.Log) *logLevels {
	l := &logLevels{parts: map[string]*atomic.Int32{}}
	l.apply(c)
	return l
}

// apply sets the levels of a configuration, and forgets those that were set meanwhile.
func (l *logLevels) apply(c config.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.base, l.own = hclog.LevelFromString(c.Level), map[string]hclog.Level{}
	for part, level := range c.Parts {
		l.own[part] = hclog.LevelFromString(level)
	}
	l.refresh()
}

// set gives a part a level until the next apply; "" is all parts.
func (l *logLevels) set(part string, level hclog.Level) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if part == "" {
		l.base, l.own = level, map[string]hclog.Level{}
	} else {
		maps.DeleteFunc(l.own, func(below string, _ hclog.Level) bool { return strings.HasPrefix(below, part+".") })
		l.own[part] = level
	}
	l.refresh()
}

// refresh brings what is in effect up to date. mu is held.
func (l *logLevels) refresh() {
	for part, level := range l.parts {
		level.Store(int32(l.level(part)))
	}
}

// level returns what is in effect for a part. mu is held.
func (l *logLevels) level(part string) hclog.Level {
	for part != "" {
		if level, ok := l.own[part]; ok {
			return level
		}
		part = part[:max(0, strings.LastIndexByte(part, '.'))]
	}
	return l.base
}

// of returns the level of a part, which changes with it. Parts are few: they are named in the code, and by plugins.
func (l *logLevels) of(part string) *atomic.Int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	level := l.parts[part]
	if level == nil {
		level = new(atomic.Int32)
		level.Store(int32(l.level(part)))
		l.parts[part] = level
	}
	return level
}

// known reports whether a part exists.
func (l *logLevels) known(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(core.LogParts, part) || strings.HasPrefix(part, core.LogPartPlugins) && l.parts[part] != nil
}

// names returns all parts that there are.
func (l *logLevels) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.Clone(core.LogParts)
	for part := range l.parts {
		if strings.HasPrefix(part, core.LogPartPlugins) {
			names = append(names, part)
		}
	}
	slices.Sort(names)
	return names
}

// list returns the levels in effect, by part.
func (l *logLevels) list() []wire.AdminLogPart {
	names := l.names()
	parts := make([]wire.AdminLogPart, 0, len(names))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		parts = append(parts, wire.AdminLogPart{Part: name, Level: l.level(name).String()})
	}
	return parts
}
