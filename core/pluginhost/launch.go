package pluginhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// start brings up a new instance: it is verified, started, told its settings, and ready.
func (c *child) start(ctx context.Context) (*instance, *failure) {
	c.set(core.PluginVerifying, nil)
	b, failed := c.host.verify(c.spec)
	c.host.unsafe.note(failed)
	if failed != nil {
		return nil, failed
	}
	c.set(core.PluginStarting, func(p *core.Plugin) {
		p.Kind, p.Version, p.SHA256 = cmp.Or(b.entry.Kind, p.Kind), b.entry.Version, cmp.Or(c.spec.SHA256, b.entry.SHA256)
	})
	spec, failed := c.resolved(ctx)
	if failed != nil {
		return nil, failed
	}
	i, failed := c.host.launch(ctx, spec, b, c.log)
	if failed != nil {
		return nil, failed
	}
	c.mu.Lock()
	c.status.PID, c.status.StartedAt, c.status.Protocol = i.proc.number(), c.host.opts.Clock.Now(), i.client.NegotiatedVersion()
	again := c.announced != nil // it has been ready before
	c.mu.Unlock()
	if failed = c.introduce(ctx, i, b); failed == nil {
		c.set(core.PluginConfiguring, nil)
		failed = c.configure(ctx, i)
	}
	if failed != nil {
		c.stop(i, false)
		return nil, failed
	}
	c.publish(i, again)
	return i, nil
}

// launch starts a process and waits for its handshake.
func (h *Host) launch(ctx context.Context, s Spec, b binary, log *pluginLogger) (*instance, *failure) {
	state, err := h.stateDir(s.Name)
	if err != nil {
		return nil, &failure{reason: "its state directory cannot be made: " + lastError(err).Error(), hint: "look at the rights of " + h.opts.StateDir}
	}
	run, err := h.runDir(s.Name)
	if err != nil {
		return nil, &failure{reason: "its run directory cannot be made: " + lastError(err).Error(), hint: "look at the rights of " + h.opts.RunDir}
	}
	private, err := json.Marshal(h.opts.Private)
	if err != nil {
		return nil, &failure{reason: "the paths of the service cannot be told to it: " + err.Error()}
	}
	env := environ(h.opts.Lookup, s.Env, map[string]string{
		plugin.EnvName: s.Name, plugin.EnvRunDir: run, plugin.EnvStateDir: state,
		plugin.EnvPrivate: string(private), plugin.EnvWorkspaces: h.opts.Workspaces,
		plugin.EnvLogLevel: log.GetLevel().String(), plugin.EnvParentFD: strconv.Itoa(parentFD),
	})
	if b.files != "" {
		env = append(env, plugin.EnvFiles+"="+b.files)
	}
	words := new(lastWords)
	log = log.overheard(words)
	proc := &process{path: b.path, secure: b.secure(), dir: state, done: make(chan struct{})}
	i := &instance{proc: proc, words: words}
	// A Client, like the command behind it, is good for one start only.
	i.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  plugin.Handshake,
		VersionedPlugins: plugin.Plugins(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     h.opts.Limits.Start,
		GRPCDialOptions:  plugin.GRPCDialOptions(),
		Logger:           log,
		// The directory of the sockets; go-plugin makes one in it for this process, and removes it.
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: h.sockets},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, sockets string) (runner.Runner, error) {
			i.sockets = sockets
			proc.env = append(env, cmd.Env...)
			return proc, nil
		},
	})
	type outcome struct {
		conn *plugin.Conn
		err  error
	}
	result := make(chan outcome, 1)
	go func() { // joined below: the kill makes it end
		conn, err := i.connect()
		result <- outcome{conn, err}
	}()
	var out outcome
	select {
	case out = <-result:
	case <-time.After(h.opts.Limits.Start + time.Second): // a process that stops after its handshake
		proc.signal(syscall.SIGKILL)
		<-result
		out.err = context.DeadlineExceeded
	case <-ctx.Done():
		proc.signal(syscall.SIGKILL)
		<-result
		out.err = ctx.Err()
	}
	if out.err != nil {
		if proc.number() != 0 {
			select { // it may be on its way out, and then that is the reason
			case <-proc.done:
			case <-time.After(launchGrace):
			}
		}
		failed := launchFailure(out.err, proc, log.redact)
		i.end(h.opts.Limits.Stop, false) // and what it said last has come
		if failed.crash {
			failed.reason += words.text()
		}
		return nil, failed
	}
	words.quiet.Store(true)
	i.conn = out.conn
	return i, nil
}

// exitGrace is how long a process that broke its connection is given to end by itself, so that the reason can
// be told.
const exitGrace = 200 * time.Millisecond

// launchGrace is exitGrace for a process that was never ready: no caller waits for it.
const launchGrace = time.Second

// connect does the handshake and dispenses the connection.
func (i *instance) connect() (*plugin.Conn, error) {
	protocol, err := i.client.Client()
	if err != nil {
		return nil, err
	}
	client, ok := protocol.(*goplugin.GRPCClient)
	if !ok {
		return nil, errors.New("unsupported plugin protocol")
	}
	i.grpc = client.Conn
	raw, err := client.Dispense(plugin.Name)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(*plugin.Conn)
	if !ok {
		return nil, fmt.Errorf("dispensed a %T", raw)
	}
	return conn, nil
}

// introduce asks the plugin what it is, and for its schema.
func (c *child) introduce(ctx context.Context, i *instance, b binary) *failure {
	ctx, cancel := context.WithTimeout(ctx, c.host.opts.Limits.Configure)
	defer cancel()
	info, err := i.conn.Info(ctx)
	if err != nil {
		return silent(err, "the question what it is", c.redact)
	}
	want := cmp.Or(c.spec.Kind, b.entry.Kind)
	if want != "" && string(info.Kind) != want {
		return &failure{reason: fmt.Sprintf("it says that it is of kind %q, and should be %s", shorten(string(info.Kind)), want), hint: hintInstall}
	}
	if b.entry.Version != "" && info.Version != b.entry.Version {
		c.log.Logger.Warn("plugin is not of the version in its manifest", "says", shorten(info.Version), "manifest", b.entry.Version)
	}
	settings, err := i.conn.Schema(ctx)
	if err != nil {
		return silent(err, "the question for its settings", c.redact)
	}
	i.info = info
	schema, examples := settings.Schema, beginning(settings.Examples)
	size := len(schema)
	for _, example := range examples {
		size += len(example)
	}
	if size > maxSettings {
		c.log.Logger.Warn("the schema of the plugin's settings is too large to be shown", "bytes", size, "most", maxSettings)
		schema, examples = nil, nil
	}
	features := beginning(info.Features)
	for n, feature := range features {
		features[n] = shorten(feature)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Kind, c.status.Version, c.status.Features = shorten(string(info.Kind)), shorten(info.Version), features
	c.status.SDK = shorten(info.SDK)
	c.schema, c.examples = schema, examples
	return nil
}

// Bounds of what is kept of a plugin's description of itself.
const (
	maxSaid     = 100     // entries of each list
	maxSettings = 1 << 20 // bytes of the schema of its settings, with its examples
)

// beginning returns a copy of as much of a list as is kept.
func beginning[T any](list []T) []T { return slices.Clone(list[:min(len(list), maxSaid)]) }

// reported returns the problems with settings that are logged and reported, errors before warnings.
func reported(problems []plugin.Problem) []plugin.Problem {
	warning := func(p plugin.Problem) int {
		if p.Severity == plugin.SeverityWarning {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(problems, func(a, b plugin.Problem) int { return warning(a) - warning(b) })
	return beginning(problems)
}

// configure gives the plugin its settings.
func (c *child) configure(ctx context.Context, i *instance) *failure {
	limit := c.host.opts.Limits.Configure
	checking, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	problems, err := i.conn.Validate(checking, c.spec.Config)
	if err != nil {
		return refused(checking, i, err, "the check of its settings", c.redact)
	}
	var bad []string
	for _, p := range reported(problems) {
		text := shortenTo(c.redact(strings.TrimPrefix(p.Path+": "+p.Text, ": ")), 300)
		if p.Severity == plugin.SeverityWarning {
			c.log.Logger.Warn("plugin warns about its settings", "problem", text)
			continue
		}
		bad = append(bad, text)
	}
	if len(bad) > 0 {
		return &failure{
			reason: "it refuses its settings: " + strings.Join(bad, "; "),
			hint:   "correct plugins." + c.spec.Name + ".config; wardroom plugin info " + c.spec.Name + " shows what it takes",
		}
	}
	setting, done := context.WithTimeout(ctx, limit)
	defer done()
	c.mu.Lock()
	generation := c.rounds
	c.mu.Unlock()
	i.conn.SetHostServices(c.services())
	if _, err := i.conn.Configure(setting, c.spec.Config, generation); err != nil { // its warnings were logged above
		return refused(setting, i, err, "the taking of its settings", c.redact)
	}
	return nil
}

// publish makes an instance the one that is called.
func (c *child) publish(i *instance, again bool) {
	c.mu.Lock()
	c.current = i
	if again {
		c.status.Restarts++
	}
	c.status.Health, c.status.HealthReason, c.silent = "", "", false
	c.mu.Unlock()
	if again {
		c.host.opts.Metrics.Restarted(c.spec.Name)
	}
	kind := string(i.info.Kind)
	c.set(core.PluginReady, func(p *core.Plugin) {
		if !slices.Contains(c.host.opts.Uses, kind) {
			p.Reason = "this release asks nothing of " + kind + " plugins: it runs, and is not used"
		}
	})
	if p, _ := c.snapshot(); p.Reason != "" {
		c.log.Logger.Warn("plugin is not used", "kind", kind, "reason", p.Reason)
	}
	c.announce(i)
}

// stop ends an instance. Calls to it fail from the first moment on.
func (c *child) stop(i *instance, orderly bool) {
	c.mu.Lock()
	if c.current == i {
		c.current = nil
	}
	c.mu.Unlock()
	i.end(c.host.opts.Limits.Stop, orderly)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.PID, c.status.StartedAt, c.status.Protocol, c.checks = 0, time.Time{}, 0, nil
	c.status.Health, c.status.HealthReason, c.silent = "", "", false
}
