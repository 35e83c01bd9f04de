package audit

import (
	"slices"
	"time"
)

// Level is how much records say.
type Level int

// Levels.
const (
	Minimal  Level = iota // who did what to what, from where, and what came of it; refusals
	Standard              // and by which request, with details that hold no text of users; failures
	Verbose               // and reads, and texts, masked
)

// LevelNames are the names of levels, by Level.
var LevelNames = []string{"minimal", "standard", "verbose"}

// ParseLevel returns the level of a name; Standard for one that is none.
func ParseLevel(name string) Level {
	if i := slices.Index(LevelNames, name); i >= 0 {
		return Level(i)
	}
	return Standard
}

// Config is what may change while the process runs.
type Config struct {
	Enabled bool
	// Blocking says that what cannot be recorded does not happen. Else records are lost, and counted, where they cannot
	// be kept.
	Blocking  bool
	Level     Level
	Events    []string      // categories
	Retention time.Duration // 0: for ever
	// MaxBytes bounds the size of the records in the store. Beyond it, those that every sink has go whatever their age;
	// where none can go, nothing is recorded any more.
	MaxBytes int64
	// Queue is how many records that no transaction tells of may wait for the store, unless Blocking.
	Queue int
}

// wants reports whether records of a category are kept.
func (c *Config) wants(category string) bool {
	return c.Enabled && slices.Contains(c.Events, category)
}

// When checkpoints are made: the chain is signed after so many records, and after so long.
const (
	checkpointRecords = 1000
	checkpointAfter   = time.Minute
)
