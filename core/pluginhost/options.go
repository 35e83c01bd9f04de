package pluginhost

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Spec is the configuration of a plugin.
type Spec struct {
	Name     string // what it is called here
	Kind     string // that it must be; empty: what its manifest says
	Path     string // absolute; empty: the file Name in Options.Dir
	SHA256   string // that its binary must have; empty: what its manifest says
	Required bool
	Enabled  bool
	Config   json.RawMessage   // its settings, a JSON object; empty: {}
	Env      map[string]string // for its environment; values are secret
	Secrets  []string          // values in Config that are secret: they are blotted out of what it says
}

// Options are what a Host is made of.
type Options struct {
	Dir      string // of the plugins' binaries and manifests, absolute
	RunDir   string // for sockets; emptied by a reboot, absolute and short
	StateDir string // for what outlives a restart, absolute
	// Private are paths of the service that what a plugin starts must not get at, and Workspaces is where it makes work
	// directories for agents; plugins get both.
	Private    []string
	Workspaces string
	// TrustedKeys are public keys of minisign. With any, a plugin that was installed by wardroom plugin install runs only
	// if one of them signed it.
	TrustedKeys []string
	// Uses are the kinds of plugins that the service asks anything of. A ready plugin of another kind says that it is
	// not used.
	Uses []string
	// UsedBy returns the key of the configuration in effect that has a plugin run; "" for none. nil: nothing does.
	UsedBy func(name string) string
	// Dev runs binaries without a checksum and from directories that others may write to.
	Dev     bool
	Plugins []Spec

	Clock   core.Clock
	Logger  hclog.Logger
	Metrics Metrics                     // nil: nothing is counted
	Lookup  func(string) (string, bool) // finds variables of the host's environment; nil: os.LookupEnv
	Unsafe  Unsafe                      // nil: they are not reported
	Check   func(HealthCheck)           // called with each plugin that is supervised, once; may be nil
	Changed func(core.Plugin)           // called after each change of a plugin's state or health, quickly; may be nil
	Secrets SecretLookup                // resolves references for plugins; nil: none can be
	Keys    StateKeys                   // for what plugins keep; nil: they get none
	Policy  Policy                      // zero: DefaultPolicy
	Limits  Limits                      // zero fields: DefaultLimits
}

// SecretLookup resolves a reference that stands in the settings of a plugin.
type SecretLookup func(ctx context.Context, plugin, ref string) (secret.Value, error)

// StateKeys returns the key under which a plugin encrypts what it keeps: plugin.StateKeySize bytes, the same each time.
type StateKeys func(ctx context.Context, plugin string) ([]byte, error)

// Metrics counts what plugins do. *metrics.Plugins is one. Methods are safe for concurrent use.
type Metrics interface {
	// State reports that a plugin is in a state from now on.
	State(plugin, kind, state string)
	// Restarted reports that a plugin was started again after it had run.
	Restarted(plugin string)
	// Called reports a call that ended; code is "ok" or that of the error.
	Called(plugin, method, code string, took time.Duration)
}

// Unsafe is called when a file or directory that others could change keeps plugins from starting: once for each, however
// many plugins it keeps, and again only after it was safe. It must not block.
type Unsafe func(path, reason, hint string)

// HealthCheck is how one plugin is seen by whoever watches the whole.
type HealthCheck struct {
	Name     string // plugin:NAME
	Required bool
	// Run tells the status (ok, degraded or failed), and for people what is wrong and what to do. It asks
	// nobody and returns at once.
	Run func() (status, message, hint string)
}

// Limits bound how long parts of a plugin's life may take, in real time.
type Limits struct {
	Start     time.Duration // from the start of the process to its handshake
	Configure time.Duration // of each call that brings it up: Info, Validate, Configure
	Ping      time.Duration // between two looks whether it is alive
	Answer    time.Duration // for its answer to one
	Pings     int           // unanswered ones after which it counts as hung
	Stop      time.Duration // for an orderly end
	Ready     time.Duration // for a required plugin when the Host opens
	Settle    time.Duration // for any other: then the Host opens without it
	Again     time.Duration // for the next process, of a reading call that lost the one it had
}

// DefaultLimits returns the limits that are in force unless others are set.
func DefaultLimits() Limits {
	return Limits{
		Start: 10 * time.Second, Configure: 30 * time.Second,
		Ping: 10 * time.Second, Answer: 5 * time.Second, Pings: 3,
		Stop: 5 * time.Second, Ready: 30 * time.Second, Settle: 5 * time.Second, Again: time.Second,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ field, value *time.Duration }{
		{&l.Start, &d.Start}, {&l.Configure, &d.Configure}, {&l.Ping, &d.Ping}, {&l.Answer, &d.Answer},
		{&l.Stop, &d.Stop}, {&l.Ready, &d.Ready}, {&l.Settle, &d.Settle}, {&l.Again, &d.Again},
	} {
		*f.field = cmp.Or(max(*f.field, 0), *f.value)
	}
	l.Pings = cmp.Or(max(l.Pings, 0), d.Pings)
	return l
}

// noMetrics counts nothing.
type noMetrics struct{}

func (noMetrics) State(string, string, string)                 {}
func (noMetrics) Restarted(string)                             {}
func (noMetrics) Called(string, string, string, time.Duration) {}
