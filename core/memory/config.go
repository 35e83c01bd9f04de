package memory

import "time"

// Config bounds the memory. All of it may change while the service runs.
type Config struct {
	MaxDecisions    int           // that a thread gets; 0: none
	MaxExperiences  int           // that a thread gets; 0: none
	MaxContextBytes int           // of the memory file
	MaxAge          time.Duration // of an experience since it was made the last time; 0: no limit
	MaxCount        int           // experiences; beyond it the oldest go; 0: no limit
}

// DefaultConfig returns the bounds that decisions of the product settle.
func DefaultConfig() Config {
	return Config{
		MaxDecisions: 5, MaxExperiences: 4, MaxContextBytes: 16 << 10, MaxAge: 365 * 24 * time.Hour, MaxCount: 100_000,
	}
}
