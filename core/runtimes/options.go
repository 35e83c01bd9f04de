package runtimes

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	defaultRetry      = 250 * time.Millisecond
	maxRetry          = 10 * time.Second
	defaultTimeout    = 120 * time.Second
	spawnTimeout      = 90 * time.Second
	firstGrace        = 10 * time.Second // for the first attempt to reach a runtime, before spawns go on without it
	defaultKeep       = 24 * time.Hour
	defaultGrace      = 10 * time.Minute
	sweepInterval     = time.Minute
	askInterval       = 5 * time.Second // between looks for agents that cannot be reached
	unsureTime        = 6 * time.Minute // above what a runtime may take for a start
	maxEventText      = 256 << 10
	applyBatch        = 64
	defaultStopGrace  = 5 * time.Second
	stopAnswerReserve = 10 * time.Second
	turnEndWait       = 2 * time.Second // for the event of a turn's end, before its answer is given without
)

// Source is one configured runtime.
type Source struct {
	Name     string
	Priority int // lower is tried first
	Runtime  runtime.Runtime
	// State reports whether the runtime is there, and if not why. Nil: it is as far as its calls succeed.
	State func() (ready bool, reason string)
	// Takes reports whether the runtime, which is there, can start agents, and if not why and what to do. Nil: it can.
	Takes func() (ok bool, reason string)
	// Changed, if not nil, receives when State may have changed, so that recovery does not wait for a retry.
	Changed <-chan struct{}
}

// Store is the part of the durable state that the service uses.
type Store interface {
	Update(ctx context.Context, fn func(tx core.Tx) error) error
	core.ManagedAgentReader
}

// Streams opens streams of an agent's events.
type Streams interface {
	Stream(ctx context.Context, subject string, after uint64, isLast func(core.Event) bool) (core.EventStream, error)
}

// Options are what a Service is made of. Store and Streams are required.
type Options struct {
	Store        Store
	Streams      Streams
	Clock        core.Clock
	IDs          core.IDs
	Logger       hclog.Logger
	Installation string // id of this appliance: agents of others are left alone
	Sources      []Source
	Types        map[string]runtime.DeclaredType // declared agent types
	KnownTypes   []string                        // agent types whether or not a runtime offers them
	KeepStopped  time.Duration                   // how long stopped agents stay listed; 0: 24 h
	Older        core.OlderFunc                  // decides for KeepStopped; nil: by Clock
	Approver     Approver                        // nil: people answer all prompts
	Secrets      core.SecretSource               // of the environments of agents; nil: their values stay as they are
	TypeSecrets  core.SecretSource               // of the environments of declared agent types, likewise
	// Typing wraps the terminals that people type into, so that it can be recorded; nil: nothing is.
	Typing      func(ctx context.Context, agentID string, t runtime.Terminal) (runtime.Terminal, error)
	OrphanGrace time.Duration // how long agents without a record may run; 0: 10 min
	// Restartable refuses to start an agent again that is of no use any more; nil: each may be.
	Restartable func(ctx context.Context, r *core.ManagedAgentRecord) error
}
