package plugin

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/wardroom/wardroom/sdk/audit"
	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Conn is a host's connection to a plugin. Methods may be called concurrently and report failures as *Error:
// UNAVAILABLE when the plugin's process is gone. The host closes it, and ends the process by go-plugin.
type Conn struct {
	ctx     context.Context // ends with the plugin's process
	broker  *goplugin.GRPCBroker
	rpc     pluginv1.PluginClient
	runtime runtime.Runtime
	secret  secret.Provider
	audit   audit.Sink

	mu       sync.Mutex // guards what follows
	services HostServices
	serving  *hostServing
	info     Info
	closed   bool
}

// Info describes a plugin, as it says itself.
type Info struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Kind     Kind     `json:"kind"`
	Features []string `json:"features,omitempty"`
	SDK      string   `json:"sdk,omitempty"` // of what it is made with
}

// Schema describes the configuration of a plugin.
type Schema struct {
	Schema   json.RawMessage // nil: no settings
	Examples []json.RawMessage
}

func newConn(ctx context.Context, broker *goplugin.GRPCBroker, conn *grpc.ClientConn) *Conn {
	return &Conn{
		ctx: ctx, broker: broker, rpc: pluginv1.NewPluginClient(base{conn}), runtime: runtime.NewClient(conn),
		secret: secret.NewClient(conn), audit: audit.NewClient(conn),
	}
}

// SetHostServices gives the plugin the services of its host. It is called before the first Configure.
func (c *Conn) SetHostServices(services HostServices) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.services = services
}

func (c *Conn) hostServices() HostServices {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.services
}

// Info asks the plugin what it is. Has answers by the last Info.
func (c *Conn) Info(ctx context.Context) (Info, error) {
	r, err := c.rpc.Info(ctx, &pluginv1.InfoRequest{HostFeatures: hostFeatures})
	if err != nil {
		return Info{}, fromStatus(err)
	}
	info := Info{Name: r.Name, Version: r.Version, Kind: Kind(r.Kind), Features: r.Features, SDK: r.Sdk}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.info = info
	return info, nil
}

// Has reports whether the plugin has a feature, by the last Info.
func (c *Conn) Has(feature string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.info.Features, feature)
}

// Schema asks for the schema of the configuration.
func (c *Conn) Schema(ctx context.Context) (Schema, error) {
	r, err := c.rpc.Schema(ctx, &pluginv1.SchemaRequest{})
	if err != nil {
		return Schema{}, fromStatus(err)
	}
	out := Schema{Schema: r.Schema}
	for _, e := range r.Examples {
		out.Examples = append(out.Examples, e)
	}
	return out, nil
}

// Validate returns what is wrong with a configuration; nothing changes.
func (c *Conn) Validate(ctx context.Context, config json.RawMessage) ([]Problem, error) {
	r, err := c.rpc.Validate(ctx, &pluginv1.ValidateRequest{Config: config})
	if err != nil {
		return nil, fromStatus(err)
	}
	return problemsFromProto(r.Problems), nil
}

// Configure makes the plugin serve with a configuration, and returns warnings. generation rises with each new
// configuration; the same one may be sent again. INVALID_CONFIG has the problems, and the former configuration
// stays in force.
func (c *Conn) Configure(ctx context.Context, config json.RawMessage, generation uint64) ([]Problem, error) {
	req := &pluginv1.ConfigureRequest{Config: config, Generation: generation}
	serving, err := c.serveHost()
	if err != nil {
		return nil, err
	}
	if serving != nil {
		req.HostServices, req.HostFeatures = hostServices, featuresOf(c.hostServices())
	}
	r, err := c.rpc.Configure(ctx, req)
	err = fromStatus(err)
	if serving != nil {
		serving.answered(err)
	}
	if err != nil {
		return nil, err
	}
	return problemsFromProto(r.Problems), nil
}

// Health asks how the plugin is.
func (c *Conn) Health(ctx context.Context) (Health, error) {
	r, err := c.rpc.Health(ctx, &pluginv1.HealthRequest{})
	if err != nil {
		return Health{}, fromStatus(err)
	}
	h := Health{Status: r.Status, Reason: r.Reason}
	for _, check := range r.Checks {
		h.Checks = append(h.Checks, Check{Name: check.GetName(), Status: check.GetStatus(), Text: check.GetText()})
	}
	return h, nil
}

// Metrics returns measurements in the Prometheus text format; empty if the plugin has none.
func (c *Conn) Metrics(ctx context.Context) ([]byte, error) {
	r, err := c.rpc.Metrics(ctx, &pluginv1.MetricsRequest{})
	if err != nil {
		return nil, fromStatus(err)
	}
	return r.Text, nil
}

// SetLogLevel sets what the plugin logs from now on.
func (c *Conn) SetLogLevel(ctx context.Context, level hclog.Level) error {
	_, err := c.rpc.SetLogLevel(ctx, &pluginv1.SetLogLevelRequest{Level: level.String()})
	return fromStatus(err)
}

// Shutdown makes the plugin close what it serves, within the deadline of ctx. Its process ends soon after by
// itself, or sooner by go-plugin's Kill.
func (c *Conn) Shutdown(ctx context.Context) error {
	req := &pluginv1.ShutdownRequest{}
	if deadline, ok := ctx.Deadline(); ok {
		req.Deadline = durationpb.New(time.Until(deadline))
	}
	_, err := c.rpc.Shutdown(ctx, req)
	return fromStatus(err)
}

// Runtime is the service of a plugin of that kind; of another, all its methods return UNIMPLEMENTED.
func (c *Conn) Runtime() runtime.Runtime { return c.runtime }

// Secret is the service of a plugin of that kind. It is a secret.Watcher if Has(FeatureSecretWatch).
func (c *Conn) Secret() secret.Provider { return c.secret }

// Audit is the service of a plugin of that kind.
func (c *Conn) Audit() audit.Sink { return c.audit }

// Close ends the host's services for the plugin and waits for their goroutines. The connection itself ends
// with go-plugin's client. Safe to call twice.
func (c *Conn) Close() error {
	c.mu.Lock()
	serving := c.serving
	c.serving, c.closed = nil, true
	c.mu.Unlock()
	if serving != nil {
		serving.stop()
	}
	return nil
}
