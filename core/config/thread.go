package config

import (
	"time"

	"github.com/wardroom/wardroom/core"
)

// Threads is everything about managed threads. All but Root may change while the process runs.
type Threads struct {
	Root                string // absolute, or empty for the folder "workspaces" in that of the store
	MaxThreads          int    // that are not over
	MaxQueuedInputs     int    // messages of one thread
	IdleTimeout         time.Duration
	Timeout             time.Duration // 0: none
	MaxRestarts         int
	TurnRetries         int
	TurnRetryDelay      time.Duration
	WaitAlert           time.Duration // 0: never
	SummarizeAfterTurns int           // 0: only at the end
	SpawnsAtOnce        int
	AutoAnswer          []core.AutoAnswerRule
	Workspaces          Workspaces
	Repositories        map[string]*Repository // by the name that requests use
	Finish              Finish
	Memory              Memory
}

// Workspaces bounds the directories that threads work in.
type Workspaces struct {
	TTL           time.Duration // after the end of the thread
	ReserveTTL    time.Duration // of a preparation
	MaxCount      int
	MaxBytes      int64 // of one
	MaxTotalBytes int64 // of all

	MaxReleasedBytes int64 // of those whose thread is over; 0: any size

	FetchTimeout    time.Duration
	CheckoutTimeout time.Duration
	AllowedURLs     []string // globs; empty: every https, ssh and file URL
	Identity        Identity
}

// Identity is the author of commits.
type Identity struct {
	Name  string
	Email string
}

// Repository is a git repository under a short name.
type Repository struct {
	URL          string
	Branch       string // empty: its default
	Username     string
	Password     Secret
	PasswordFile string // absolute; instead of Password
	SSHKeyFile   string // absolute; for ssh
}

// Finish is what threads may do with their workspaces at their end.
type Finish struct {
	Commit   bool
	Push     bool
	Branches []string // globs of those that may be pushed to
}

// Memory bounds what is kept of threads, and what new ones are told.
type Memory struct {
	MaxDecisions   int
	MaxExperiences int
	MaxContext     int64 // bytes
	Keep           time.Duration
	MaxCount       int // experiences
}

func newRepository(string) *Repository { return &Repository{} }

// repositoryOf returns an entry, or one with the defaults when c has none of this name.
func repositoryOf(c *Config, name string) *Repository {
	if entry := c.Threads.Repositories[name]; entry != nil {
		return entry
	}
	return newRepository(name)
}
