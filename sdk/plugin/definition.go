package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Kind is the purpose of a plugin.
type Kind string

// Kinds.
const (
	KindRuntime Kind = "runtime"
	KindSecret  Kind = "secret"
	KindAudit   Kind = "audit"
)

// Definition is all of a plugin.
type Definition struct {
	Name    string // lower case, digits and dashes: runtime-local
	Version string
	Kind    Kind
	// Schema is the JSON Schema (2020-12) of the configuration; nil: there are no settings. A configuration
	// that does not satisfy it never reaches Validate or Configure.
	Schema []byte
	// Examples are valid configurations, shown to operators.
	Examples []json.RawMessage
	// Features are what the plugin can do beyond the first minor version of the protocol.
	Features []string

	// Validate finds what the schema cannot say. It changes nothing. Optional.
	Validate func(ctx context.Context, config json.RawMessage) []Problem
	// Configure makes the service of a configuration; config is a JSON object. It is called for each new
	// configuration, one call at a time. When it fails the former service goes on; otherwise the new one takes
	// over, and then the former's Close is called. ctx is the call's: what lives longer does not keep it. The
	// host receives the text of an *Error, *runtime.Error, *secret.Error or *audit.Error; that of any other error
	// is dropped, and not even logged, because it may quote any setting.
	Configure func(ctx context.Context, config json.RawMessage, host Host) (Service, error)
	// ServeAlone runs, until ctx ends, when the program is started by hand with PORT set; a runtime
	// serves HTTP then. Nil: the program prints how it is used and exits with 2.
	ServeAlone func(ctx context.Context) error
	// AlonePort is the port that ServeAlone takes without PORT; 0: it needs PORT.
	AlonePort int
}

// Service is made by Configure: it has the one of Runtime, Secret and Audit that is the plugin's kind, and what
// is optional. All functions may be called concurrently, except for Close, which is called once.
type Service struct {
	Runtime runtime.Runtime
	Secret  secret.Provider
	Audit   audit.Sink
	// Health says how it is. Nil: ok.
	Health func(ctx context.Context) Health
	// Metrics returns measurements in the Prometheus text format. Nil: none. The host shows them with the prefix
	// service_plugin_ before their names, and a label plugin.
	Metrics func() []byte
	// Close lets go of everything; calls and streams that still run end. Agents of a runtime go on.
	Close func(ctx context.Context) error
}

// Statuses of Health.
const (
	StatusOK       = "ok"
	StatusDegraded = "degraded" // it works, but not all of it
	StatusFailed   = "failed"
)

// Health is how a plugin is.
type Health struct {
	Status string // StatusOK, StatusDegraded, StatusFailed
	Reason string // for people; without secrets
	Checks []Check
}

// Check is one part of Health.
type Check struct {
	Name   string
	Status string
	Text   string
}

// Note adds a check. The first of the worst status that is not StatusOK says how the whole is.
func (h *Health) Note(name, status, text string) {
	h.Checks = append(h.Checks, Check{Name: name, Status: status, Text: text})
	if status == StatusFailed && h.Status != StatusFailed || status == StatusDegraded && h.Status == StatusOK {
		h.Status, h.Reason = status, text
	}
}

// Severities of a Problem.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// Problem is something wrong with a configuration.
type Problem struct {
	Path     string `json:"path"`     // JSON pointer; empty for the whole
	Severity string `json:"severity"` // SeverityError, SeverityWarning
	Text     string `json:"text"`     // for an operator; holds no value of the configuration, which may be secret
}

// Problems collects what is wrong with a configuration.
type Problems []Problem

// Add adds a problem. The text holds no value of the configuration that may be secret.
func (p *Problems) Add(path, severity, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Severity: severity, Text: fmt.Sprintf(format, args...)})
}

// Host offers a plugin's process the services of its host. Methods may be called concurrently. They are many because
// most only name a place or a value that the host gave; plugins that use few of them declare an interface of those.
type Host interface {
	// Logger writes into the host's log. No secret goes there.
	Logger() hclog.Logger
	// Name is the name that the operator gave this plugin.
	Name() string
	// RunDir is a directory for sockets and the like, 0700 and emptied by a reboot. Empty: the host gave none.
	RunDir() string
	// StateDir is a directory for what must outlive everything, 0700. Empty: the host gave none.
	StateDir() string
	// Private are paths that belong to the host alone, such as its store, its keys and its configuration: what a plugin
	// starts for others must not get at them. Workspaces is where the host makes work directories for agents, which lies
	// in one of them as a rule; empty: nowhere.
	Private() []string
	Workspaces() string
	// Has reports whether the host has a feature: FeatureHostSecret and so on. Those of later hosts are names that
	// this package does not know yet.
	Has(feature string) bool
	// Secret resolves a reference that stands in the plugin's configuration. FORBIDDEN for others.
	Secret(ctx context.Context, ref string) (secret.Value, error)
	// StateKey returns the key that the plugin encrypts what it keeps under: StateKeySize bytes, the same after each restart
	// of plugin and host, and not kept in StateDir. UNIMPLEMENTED without FeatureHostStateKey.
	StateKey(ctx context.Context) ([]byte, error)
	// KV keeps small values.
	KV() KV
	// Report writes a record into the host's log and returns when it is there: what must not be lost with the
	// process, which Logger does not promise. RESOURCE_LIMIT, to be tried again later, while the plugin writes more than the
	// host's log takes.
	Report(ctx context.Context, level hclog.Level, message string, fields map[string]string) error
}

// KV keeps small values for a plugin at its host, apart from those of other plugins. Keys are 1 to MaxKey
// bytes, values up to MaxValue.
type KV interface {
	Get(ctx context.Context, key string) (value []byte, found bool, err error)
	Put(ctx context.Context, key string, value []byte) error
	// Delete removes a key; one that is not there is no error.
	Delete(ctx context.Context, key string) error
	// List returns the keys with a prefix, sorted.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Limits of KV, in bytes.
const (
	MaxKey   = 256
	MaxValue = 64 << 10
)

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// check returns all that is wrong with a definition.
func (d *Definition) check() error {
	var errs []error
	if len(d.Name) > 64 || !namePattern.MatchString(d.Name) {
		errs = append(errs, fmt.Errorf("Name %q: want lower-case letters, digits and single dashes, at most 64", d.Name))
	}
	if d.Version == "" {
		errs = append(errs, errors.New("Version is empty"))
	}
	switch d.Kind {
	case KindRuntime, KindSecret, KindAudit:
	default:
		errs = append(errs, fmt.Errorf("Kind %q: want %s, %s or %s", d.Kind, KindRuntime, KindSecret, KindAudit))
	}
	if d.Configure == nil {
		errs = append(errs, errors.New("Configure is nil"))
	}
	schema, err := compile(d.Schema)
	if err != nil {
		errs = append(errs, fmt.Errorf("Schema: %w", err))
	}
	for i, example := range d.Examples {
		if err == nil && len(schema.check(example)) > 0 {
			errs = append(errs, fmt.Errorf("Examples[%d] does not satisfy the schema: %s", i, schema.check(example)[0].Text))
		}
	}
	return errors.Join(errs...)
}

// check reports whether the service is of the kind.
func (s *Service) check(kind Kind) error {
	switch {
	case kind == KindRuntime && s.Runtime == nil, kind == KindSecret && s.Secret == nil, kind == KindAudit && s.Audit == nil:
		return fmt.Errorf("Configure returned a Service without its %s", kind)
	}
	return nil
}
