package agentcli

import (
	"cmp"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Options make a runtime of a Launcher. Only Name, Launcher and StateDir are needed.
type Options struct {
	Name     string // of the runtime: local, docker, ...
	Launcher Launcher
	// StateDir keeps records, events and logs of agents, 0700; it must outlive the process. One process at a
	// time uses it.
	StateDir string
	// StateKey encrypts the environments of agents in StateDir; it has StateKeySize bytes, and should lie elsewhere. Nil: a
	// key of its own in StateDir, which keeps the secrets out of single files only.
	StateKey []byte
	Adapters []Adapter                       // the agent types that are known by themselves
	Types    map[string]runtime.DeclaredType // declared in the configuration
	Logger   hclog.Logger

	MaxAgents    int            // running at once; 0: no limit
	Scrollback   int            // lines per agent; 0: 10,000
	RingBytes    int            // kept output per agent; 0: 256 KiB
	ViewerBytes  int            // how far one viewer may be behind, at most RingBytes; 0: RingBytes
	ResizePolicy string         // latest (default) or smallest
	StuckAfter   time.Duration  // a turn without a sign of life; 0: 10 min
	KeepStopped  time.Duration  // how long stopped agents stay listed; 0: 24 h
	KeepEvents   int            // events kept for readers that come back; 0: 10,000
	HumanHold    time.Duration  // how long a message waits after the last key of a person; 0: 2 s
	CopyEvery    time.Duration  // between copies of the session of an agent that runs, where its room may be gone with it; 0: 30 s
	Limits       runtime.Limits // of agents that ask for none

	// Images says that the Launcher starts from images: only then may a spec name an image or a network.
	Images bool
	// EnforcesLimits says that the Launcher holds agents to their limits.
	EnforcesLimits bool
	// Isolation is what the Launcher keeps agents from; nil: the capabilities do not say.
	Isolation *runtime.Isolation
	// Ephemeral says that agents end with this process, because the Launcher has no way to keep them: the
	// capabilities say that nothing is recovered after a crash.
	Ephemeral bool
	// Now is the clock of what is recorded; nil: time.Now.
	Now func() time.Time
}

// Resize policies.
const (
	ResizeLatest   = "latest"   // the size of the viewer that typed last
	ResizeSmallest = "smallest" // a size that fits every viewer
)

// withDefaults returns the options with every default filled in.
func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	o.Scrollback = cmp.Or(max(o.Scrollback, 0), 10_000)
	o.RingBytes = cmp.Or(max(o.RingBytes, 0), 256<<10)
	if o.ViewerBytes <= 0 || o.ViewerBytes > o.RingBytes {
		o.ViewerBytes = o.RingBytes
	}
	o.ResizePolicy = cmp.Or(o.ResizePolicy, ResizeLatest)
	o.StuckAfter = cmp.Or(max(o.StuckAfter, 0), 10*time.Minute)
	o.KeepStopped = cmp.Or(max(o.KeepStopped, 0), 24*time.Hour)
	o.KeepEvents = cmp.Or(max(o.KeepEvents, 0), 10_000)
	o.HumanHold = cmp.Or(max(o.HumanHold, 0), 2*time.Second)
	o.CopyEvery = cmp.Or(max(o.CopyEvery, 0), 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// check returns what is wrong with options that have their defaults.
func (o *Options) check() error {
	bad := func(field, format string, args ...any) error {
		e := runtime.Errorf(runtime.CodeInvalidArgument, format, args...)
		e.Field = field
		return e
	}
	switch {
	case o.Name == "":
		return bad("Name", "a runtime needs a name")
	case o.Launcher == nil:
		return bad("Launcher", "a runtime needs a launcher")
	case o.StateDir == "":
		return bad("StateDir", "a runtime needs a directory for its state")
	case o.StateKey != nil && len(o.StateKey) != StateKeySize:
		return bad("StateKey", "the key has %d bytes, and needs %d", len(o.StateKey), StateKeySize)
	case o.ResizePolicy != ResizeLatest && o.ResizePolicy != ResizeSmallest:
		return bad("ResizePolicy", "%q is neither %q nor %q", o.ResizePolicy, ResizeLatest, ResizeSmallest)
	case o.MaxAgents < 0:
		return bad("MaxAgents", "%d is negative; 0 means no limit", o.MaxAgents)
	case o.RingBytes < minRing:
		return bad("RingBytes", "%d is too little: at least %d", o.RingBytes, minRing)
	}
	return nil
}

// minRing lets one frame of the terminal always fit into the ring.
const minRing = 64 << 10
