package secrets

import (
	"cmp"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Bounds.
const (
	// MaxValue is the size of the largest secret.
	MaxValue   = 1 << 20
	maxEntries = 4096
	maxBytes   = 64 << 20
	maxBatch   = 50 // references in one call of a provider, whose answer is one message of a plugin: below 64 MiB, however large the values are

	lookEvery    = time.Second      // between looks for what is to be asked for anew
	localRefresh = 5 * time.Second  // of what built-in providers read
	minRefresh   = time.Second      // of a value that expires soon
	retryFirst   = time.Second      // after a failure
	retryMost    = 30 * time.Second // after many
	missingRetry = 2 * time.Second  // after the answer that there is no such secret
	rewatch      = 30 * time.Second // at the most, until a provider that ended a watch is asked for another
	watchedWell  = 10 * time.Second // how long a watch has to last for the next one to come soon
	unusedAfter  = 30 * time.Minute // what was not used for so long is forgotten
	waitFirst    = 100 * time.Millisecond

	// Reports of changes by a provider that are followed at once, in how long; what the rest report is followed at the next look.
	mostChanges = 5
	changesTime = time.Second
)

// Plugin is a provider that is a plugin.
type Plugin struct {
	Provider secret.Provider
	// State reports whether it is there, and if not why and what to do.
	State func() (ready bool, reason, hint string)
}

// Config is what may change while the service runs.
type Config struct {
	// Refresh is how long the value of a plugin is good without being asked for anew. 0: 5 minutes.
	Refresh time.Duration
	// StaleFor is how much longer it is used while its provider does not answer. A value that expires is never used beyond that.
	StaleFor time.Duration
	// Timeout bounds the wait for a provider. 0: 10 s.
	Timeout time.Duration
	// Allow are patterns of references that users may write, as in path.Match, where ** matches / as well. Empty: those of all
	// plugins.
	Allow []string
}

func (c Config) withDefaults() *Config {
	c.Refresh = cmp.Or(max(c.Refresh, 0), 5*time.Minute)
	c.Timeout = cmp.Or(max(c.Timeout, 0), 10*time.Second)
	return &c
}

// Options are what a Service is made of. Clock is required.
type Options struct {
	Clock  core.Clock
	Logger hclog.Logger
	Config Config
	// Plugins are the providers beside the built-in ones, by the name of the plugin.
	Plugins map[string]Plugin
	// Environ finds variables of the environment; nil: os.LookupEnv.
	Environ func(string) (string, bool)
	// Credentials is the directory of the service manager's credentials; empty: $CREDENTIALS_DIRECTORY.
	Credentials string
}

func (o *Options) setDefaults() {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Environ == nil {
		o.Environ = os.LookupEnv
	}
	if o.Credentials == "" {
		o.Credentials, _ = o.Environ("CREDENTIALS_DIRECTORY")
	}
}

// Callers that are parts of this package.
var (
	refresh = secret.Caller{Component: "refresh"} // no use of a secret waits for it
	test    = secret.Caller{Component: "test"}
)

var _ core.SecretService = (*Service)(nil)
