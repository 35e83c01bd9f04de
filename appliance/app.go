package appliance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/configs"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/cert"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/engine"
	"github.com/wardroom/wardroom/core/erasure"
	"github.com/wardroom/wardroom/core/events"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/jwt"
	"github.com/wardroom/wardroom/core/limits"
	"github.com/wardroom/wardroom/core/location"
	"github.com/wardroom/wardroom/core/masking"
	"github.com/wardroom/wardroom/core/memory"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/overview"
	"github.com/wardroom/wardroom/core/pattern"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/core/policy"
	"github.com/wardroom/wardroom/core/roles"
	"github.com/wardroom/wardroom/core/runtimes"
	"github.com/wardroom/wardroom/core/schedule"
	"github.com/wardroom/wardroom/core/secrets"
	"github.com/wardroom/wardroom/core/sso"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/threads"
	"github.com/wardroom/wardroom/core/timeline"
	"github.com/wardroom/wardroom/core/tracing"
	"github.com/wardroom/wardroom/core/trigger"
	"github.com/wardroom/wardroom/core/webhook"
	"github.com/wardroom/wardroom/core/workspace"
	"github.com/wardroom/wardroom/sdk/coredump"
	"github.com/wardroom/wardroom/sdk/netlimit"
	runtimeclient "github.com/wardroom/wardroom/sdk/runtime/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Options say what to run.
type Options struct {
	ConfigPath string            // of serve; empty in dev
	Dev        bool              // loopback, no authentication, development environment
	Listen     string            // of dev
	DataDir    string            // of dev
	Temporary  bool              // DataDir is removed at the end: the agents end as well
	Insecure   bool              // serve may bind other addresses than loopback without security
	Stderr     io.Writer         // the process log; nil discards it
	Version    string            // of the binary
	Commit     string            // that it was built from; empty if that is not known
	Ready      func(addr string) // called once requests are taken, with the bound host:port; or nil
}

// App is one running appliance. Make it with New, start it with Open, end it with Close.
type App struct {
	opts     Options
	log      hclog.Logger
	levels   *logLevels // of log
	clock    core.Clock
	ids      *core.IDMaker
	registry *prometheus.Registry
	metrics  *metrics.Metrics

	store    *store.Store
	bus      *events.Bus
	notices  *events.Notices
	overview *overview.Service
	counter  *overview.Counter
	streams  *events.Streams
	patterns *pattern.Service
	agents   *agents.Service
	engine   *engine.Engine
	plugins  *pluginhost.Host
	runOwner *os.File // claims the run directory, where that lies among the temporary files
	// stateKeys are those under which plugins encrypt what they keep
	stateKeys *stateKeys
	runtimes  *runtimes.Service
	roles     *roles.Service

	workspaces *workspace.Service
	memory     *memory.Service
	threads    *threads.Service

	access     *access.Service // nil: no security is configured
	policy     *policy.Engine  // likewise
	keyChanges atomic.Uint64   // keys and tokens that were revoked or rotated

	approvals   *policy.Approvals
	agentTokens *access.AgentTokens
	agentAuth   *access.AgentAuth

	tracing  *tracing.Service
	masker   masking.Masker // of fields, in whatever is shown
	audit    *audit.Service
	alerting atomic.Pointer[alerts] // alerts, once there are

	schedules *schedule.Service
	triggers  *trigger.Service
	erasures  *erasure.Service

	secrets *secrets.Service
	host    atomic.Pointer[pluginhost.Host] // plugins, once they are started

	webhooks *webhook.Service
	publish  atomic.Pointer[webhook.Service] // webhooks, once they take notice of commits
	alerts   *alerts

	clients []*runtimeclient.Client // of runtimes that are reached by URL
	health  *health.Registry
	gate    *limits.Gate

	tokens       *jwt.Verifier               // nil: no tokens of an identity provider are taken
	signIn       *sso.Service                // nil: there is no identity provider to sign in at
	certificates atomic.Pointer[cert.Source] // of the listener; nil: it has no TLS
	api          *api.Server
	serving      atomic.Pointer[api.Server] // api, once there is one
	server       *http.Server
	admin        *admin // nil: there is no admin socket
	stderr       *lineWriter
	recent       *recentLog // the end of the log
	backups      sync.Mutex // one backup at a time
	started      time.Time

	connections *netlimit.Listener

	work   context.Context // of the background loops
	cancel context.CancelFunc
	wg     sync.WaitGroup // the HTTP server, maintenance

	refused   atomic.Pointer[string]        // why the last reload was; or nil
	reloading sync.Mutex                    // one reload at a time
	config    atomic.Pointer[config.Config] // in effect
}

// New reads the configuration and makes the parts. It opens nothing.
func New(opts Options) (*App, error) {
	if opts.Stderr == nil {
		opts.Stderr = io.Discard
	}
	c, err := load(opts)
	if err != nil {
		return nil, err
	}
	if !opts.Insecure && !c.Security.Enabled() && !c.Server.LoopbackOnly() {
		return nil, core.Invalid("server.listen",
			"no security is configured, so %s must be a loopback address; enable security.authentication.apiKeys, or lift this with --insecure", c.Server.Listen)
	}
	a := &App{
		opts: opts, clock: newClock(), registry: prometheus.NewRegistry(), stderr: &lineWriter{next: opts.Stderr, levels: inJournal(opts.Stderr)},
	}
	a.recent = newRecentLog(a.stderr, a.clock)
	a.started = a.clock.Now()
	a.levels = newLogLevels(c.Log)
	a.log = maskedLogger{newLogger(c.Log, a.levels, opts.Stderr, a.recent), &a.masker}
	a.config.Store(c)
	a.ids = core.NewIDs(a.clock)
	a.metrics = metrics.New(a.registry, metrics.Build{Version: opts.Version, Commit: opts.Commit})
	metrics.RegisterProcess(a.registry)
	a.metrics.Config.Reloaded(true, a.clock.Now()) // the first load counts as one
	a.work, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// load makes the configuration of the mode: the file's in serve, defaults around two options in dev.
func load(opts Options) (*config.Config, error) {
	if !opts.Dev {
		return config.Load(opts.ConfigPath, config.Options{})
	}
	c := config.Default()
	c.Server.Listen = opts.Listen
	c.Server.Environment = config.Development
	c.Metrics.Public = true
	c.Store.Path = storePath(opts.DataDir)
	c.Plugins.StateDir = filepath.Join(opts.DataDir, "plugins")
	c.Threads.Root = filepath.Join(opts.DataDir, "workspaces")
	devRuntimes(c)
	return c, nil
}

// Open starts all parts, each after what it needs, and returns when requests are taken.
func (a *App) Open(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	c := a.config.Load()
	// Whoever finds the address taken has made and changed nothing. Requests are taken once all is there to answer them.
	probe, err := bind(ctx, c.Server.Listen)
	if err != nil {
		return err
	}
	if err = probe.Close(); err != nil {
		return err
	}
	if err = a.checkCertificates(c); err != nil {
		return err
	}
	if err = checkDirectories(c); err != nil {
		return err
	}
	a.health = health.New(a.clock)
	if err = a.openTracing(c); err != nil {
		return err
	}
	a.bus = events.New(events.Options{})
	a.notices, a.counter = events.NewNotices(a.bus, a.clock), a.newCounter()
	if err = a.newAudit(c); err != nil {
		return fmt.Errorf("open the audit trail: %w", err)
	}
	progress := &startProgress{log: a.log.Named("store"), clock: a.clock}
	a.store, err = store.Open(ctx, store.Options{
		Audit: a.audit.Hook, Encryption: serverEncryption(c, progress), NoMigrationDump: !c.Store.DumpBeforeMigration,
		Migrating: func(keys uint64) { progress.report("migrating the store", int64(keys), 0) },
		Path:      c.Store.Path, MinFreeBytes: uint64(c.Store.MinFree), Clock: a.clock,
		Logger: a.log.Named("store"), OnCommit: a.committed,
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	if err = checkAdminSocket(c); err != nil { // who listens has another store: this one is ours
		return err
	}
	a.audit.Open(a.store, auditSinks(c))
	newest, err := a.store.NewestTime(ctx)
	if err != nil {
		return fmt.Errorf("read the newest records: %w", err)
	}
	a.ids.NotBefore(newest)
	rules, err := limitRules(a.config.Load())
	if err != nil {
		return err
	}
	a.gate = limits.NewGate(rules, a.clock, a.metrics.Access.LimitHit)
	a.openSecrets(c)
	if err = a.openAccess(ctx); err != nil {
		return fmt.Errorf("open the keys: %w", err)
	}
	a.streams = events.NewStreams(a.bus, a.store)
	if err = a.openWebhooks(ctx); err != nil {
		return fmt.Errorf("open the webhooks: %w", err)
	}
	a.alerts = a.newAlerts()
	a.alerting.Store(a.alerts)
	a.wg.Go(func() {
		a.alerts.run(a.work) // once there are endpoints to tell
	})
	a.patterns = pattern.NewService(a.store, a.clock, pattern.Options{
		MaxDefinition: int(c.Server.MaxDefinition), IDs: a.ids, BuiltIns: configs.Patterns(), AgentTypes: a.agentTypes,
		CheckSecret: a.secrets.CheckSecret,
	})
	if err = a.patterns.Open(ctx); err != nil {
		return fmt.Errorf("load the patterns: %w", err)
	}
	a.agents = agents.New(agents.Options{
		Store: a.store, Clock: a.clock, Older: a.store.Older, IDs: a.ids, Logger: a.log.Named("agents"), Config: agentsConfig(c), Gate: a.agentTokens,
		Secrets: a.secrets.Requested("engine"), Changed: a.counter.Touch,
	})
	if err = a.openPlugins(ctx); err != nil {
		return fmt.Errorf("start the plugins: %w", err)
	}
	a.deliverAudit()
	if err = a.openRuntimes(ctx); err != nil {
		return fmt.Errorf("open the runtimes: %w", err)
	}
	if err = a.newThreads(ctx); err != nil {
		return err
	}
	a.roles = a.newRoles()
	a.engine = engine.New(engine.Options{
		Store: a.store, Patterns: runnable{a.patterns, a}, Agents: a.agents, Roles: a.roles, AdHoc: a.threads, Streams: a.streams,
		Clock: a.clock, IDs: a.ids, Logger: a.log, Config: engineConfig(c), Observer: observer{a.metrics.Executions, a.metrics.Engine},
		Alert: func(subject, message string, details map[string]any) {
			a.alerts.raise(subject, core.Alert{Severity: core.SeverityWarning, Message: message, Details: details})
		},
		Notice: a.notice, Tracer: a.tracing,
	})
	a.agents.SetSink(a.engine)
	a.roles.SetSink(a.engine)
	a.threads.SetQuestions(a.engine)
	if err = a.agents.Open(ctx); err != nil {
		return fmt.Errorf("load the agents: %w", err)
	}
	if err = a.seedTotals(ctx); err != nil {
		return fmt.Errorf("count the executions: %w", err)
	}
	if err = a.threads.Open(ctx); err != nil {
		return fmt.Errorf("take up the threads: %w", err)
	}
	if err = a.roles.Open(ctx); err != nil {
		return fmt.Errorf("load the agents of roles: %w", err)
	}
	if err = a.engine.Open(ctx); err != nil {
		return fmt.Errorf("resume the executions: %w", err)
	}
	if err = a.openSchedules(ctx); err != nil {
		return fmt.Errorf("open the schedules: %w", err)
	}
	if err = a.openTriggers(ctx); err != nil {
		return fmt.Errorf("open the triggers: %w", err)
	}
	a.openErasures()
	patternSchema, err := pattern.Schema()
	if err != nil {
		return err
	}
	a.metrics.Agents.Watch(a.agentFigures)
	a.metrics.Store.Watch(a.storeFigures)
	a.metrics.Secrets.Watch(a.secretFigures)
	a.metrics.Threads.Watch(a.threadFigures)
	a.metrics.Webhooks.Watch(a.webhookFigures)
	a.registerChecks()
	a.overview = a.newOverview()
	server := api.New(a.guarded(api.Options{
		Patterns: editable{a.patterns, a}, Executions: a.engine, Timelines: &timeline.Service{Store: a.store, Clock: a.clock},
		Questions: a.engine, Batches: a.engine, Agents: a.agents,
		ManagedAgents: a.runtimes, Threads: a.threads, Memory: a.memory,
		Overview:      a.overview,
		PatternSchema: patternSchema,
		Drawings:      drawings{a.patterns},
		Parts: []api.Part{
			api.Schedules(a.schedules), api.Triggers(a.triggers), api.ServerLog(a.recent), api.Secrets(a.secrets), api.Erasures(a.erasures),
			api.Compliance(a.compliance()), api.Locations(&location.Service{Store: a.store}), api.Webhooks(a.webhooks), api.Plugins(a.plugins),
			api.Workspaces(a.workspaces),
		},
		Audit:       a.audit,
		Mask:        &a.masker,
		AgentSocket: http.HandlerFunc(a.agents.ServeWS), Idempotency: a.store, Journal: a.store, Feed: feed{a.bus, a.store}, Counts: a.counter,
		Health: a.health, Metrics: a.metrics.HTTP, Totals: a.metrics.Executions, Gatherer: a.gatherer(),
		AccessLog:  a.stderr,
		Tracer:     a.tracing,
		LimitStall: netlimit.LimitStall,
		Clock:      a.clock, IDs: a.ids, Logger: a.log, Version: a.opts.Version, BaseURL: c.Server.BaseURL, Prefix: c.Server.BasePath(), Config: apiConfig(c),
	}))
	a.api = server
	a.serving.Store(server)
	for _, action := range server.Actions() {
		a.metrics.Access.Action(action.Action)
	}
	a.warnUnmatched(ctx)
	a.warnIdle(c)
	return a.listen(ctx)
}

// listen binds the address and serves it.
func (a *App) listen(ctx context.Context) error {
	c := a.config.Load().Server
	listener, err := bind(ctx, c.Listen)
	if err != nil {
		return err
	}
	a.connections = netlimit.New(listener, a.connectionLimits(a.config.Load()))
	secured, err := a.secure(a.connections)
	if err != nil {
		return errors.Join(err, a.connections.Close())
	}
	a.metrics.Connections.Watch(a.connectionFigures)
	a.server = &http.Server{
		Handler: closeAfterChunks(a.front()), ReadHeaderTimeout: c.ReadHeaderTimeout,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ConnContext: netlimit.ConnContext, ConnState: netlimit.ConnState,
		ErrorLog: a.log.Named("http").StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	a.wg.Add(3)
	go func() {
		defer a.wg.Done()
		a.watchAccess(a.work)
	}()
	go func() {
		defer a.wg.Done()
		if err := a.server.Serve(secured); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("the listener ended", "error", err)
		}
	}()
	go func() {
		defer a.wg.Done()
		_ = a.store.RunMaintenance(a.work, a.retention) // ends with the work only
	}()
	if err := a.openAdmin(ctx); err != nil {
		return err
	}
	a.recordSystem("system.start", wire.AuditSuccess, map[string]any{"version": a.opts.Version})
	a.agents.Reachable()
	a.health.SetPhase(health.PhaseReady)
	a.metrics.Config.Reloaded(true, a.clock.Now())
	a.log.Info("ready", "version", a.opts.Version, "address", a.Addr(), "store", a.config.Load().Store.Path)
	notify(notifyReady, "STATUS=ready on "+a.Addr())
	a.startWatchdog()
	if a.opts.Ready != nil {
		a.opts.Ready(a.Addr())
	}
	// A start leaves a third of the heap behind, which an idle server would hold on to for minutes.
	debug.FreeOSMemory()
	return nil
}

// bind takes the address that the API is served on.
func bind(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, core.Errorf(core.CodeConflict, "cannot listen on %s: is another process there?", address).WithCause(err)
	}
	return listener, nil
}

// storePath is where the store of a development server lies: below its data folder, unless the folder is itself a store,
// such as one that was restored. The commands on stores go by the same rule.
func storePath(dataDir string) string {
	if _, err := os.Stat(filepath.Join(dataDir, "MANIFEST")); err == nil {
		return dataDir
	}
	return filepath.Join(dataDir, "store")
}

// Addr returns the bound host:port, once open.
func (a *App) Addr() string { return a.connections.Addr().String() }

// Run is New, Open, and Close once ctx ends; SIGHUP reloads meanwhile. It returns nil after an orderly
// stop, VALIDATION_ERROR for a refused configuration.
func Run(ctx context.Context, opts Options) error {
	defer boundHeap()()
	hangups, stop := hangups() // before anything that takes time: one that comes meanwhile is for the end of the start
	defer stop()
	bearBrokenPipes()
	a, err := New(opts)
	if err != nil {
		return err
	}
	if err := coredump.Off(); err != nil {
		a.log.Warn("core dumps of this process are not off: they would hold secrets", "error", err)
	}
	if err := a.Open(ctx); err != nil {
		return err
	}
	for {
		select {
		case <-hangups:
			if err := a.Reload(); err != nil {
				a.log.Error("the configuration was not reloaded; the old one stays in effect", "error", err)
			}
			a.plugins.Hangup()
		case <-ctx.Done():
			a.Close()
			return nil
		}
	}
}

// lastSpans is how long a stop waits for the collector of traces.
const lastSpans = 2 * time.Second

// drainShare is the part of the shutdown time in which running executions may come to their end.
const drainShare = 4

// stopReserve is the time that a stop may take beyond the shutdown time, in which parts end that wait for no request.
const stopReserve = time.Minute

// webhookDrain is the time in which receivers may answer to deliveries under way.
const webhookDrain = 2 * time.Second

// Close stops all parts in the reverse order of Open and joins their goroutines. What runs stands in its
// journal and goes on at the next start. Safe to call twice, and after a failed Open.
func (a *App) Close() {
	limit := a.config.Load().Server.ShutdownTimeout
	notify(notifyStopping, patience(limit+stopReserve))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if a.health != nil {
		a.health.SetPhase(health.PhaseStopping)
	}
	if a.erasures != nil {
		a.erasures.Close() // what is left of them is erased after the next start
	}
	if a.schedules != nil {
		a.schedules.Close() // what is due from here on is made up for at the next start
	}
	if a.triggers != nil {
		a.triggers.Close()
	}
	if a.engine != nil {
		drain, done := context.WithTimeout(ctx, limit/drainShare)
		a.engine.Drain(drain)
		done()
	}
	if a.api != nil {
		a.api.Drain() // streams end cleanly before their source does
	}
	if a.engine != nil {
		a.engine.Close() // those who wait for an execution get their answer
	}
	if a.roles != nil {
		a.roles.Close() // its agents go on with what they do
	}
	if a.threads != nil {
		if a.opts.Temporary && a.store != nil {
			a.endThreads()
		}
		a.threads.Close() // their agents go on with what they do
	}
	if a.workspaces != nil {
		a.workspaces.Close() // no git outlives us
	}
	if a.runtimes != nil {
		a.runtimes.Drain() // those who wait for an agent get theirs; the agents live on
	}
	if a.admin != nil {
		a.admin.close(ctx)
	}
	if a.server != nil {
		a.connections.Drain(stopStall)
		if err := a.server.Shutdown(ctx); err != nil {
			_ = a.server.Close() // the time is over: cut what is left
		}
	}
	if a.webhooks != nil {
		drain, done := context.WithTimeout(ctx, min(limit/drainShare, webhookDrain))
		_ = a.webhooks.Drain(drain) // what is not over is delivered again
		done()
	}
	if a.runtimes != nil {
		if a.opts.Temporary {
			a.endAgents()
		}
		a.runtimes.Close() // agents live on; their terminals end here
	}
	a.reloading.Lock() // a reload may have been about to add one
	for _, client := range a.clients {
		client.CloseIdle()
	}
	a.reloading.Unlock()
	if a.tracing != nil {
		last, done := context.WithTimeout(ctx, lastSpans)
		a.tracing.Close(last)
		done()
	}
	if a.audit != nil {
		if a.serving.Swap(nil) != nil { // it was ready
			a.recordSystem("system.stop", wire.AuditSuccess, nil)
		}
		a.audit.Drain()
	}
	if a.plugins != nil {
		a.plugins.Close()
		a.tidyRunDir()
	}
	if a.agents != nil {
		if err := a.agents.Close(ctx); err != nil {
			a.log.Warn("the agents' statistics were not stored", "error", err)
		}
	}
	if a.memory != nil {
		if err := a.memory.Close(); err != nil {
			a.log.Warn("the index of the memory did not close cleanly; it is made anew if it must be", "error", err)
		}
	}
	a.cancel()
	a.wg.Wait()
	if a.webhooks != nil {
		a.webhooks.Close()
	}
	if a.secrets != nil {
		a.secrets.Close()
	}
	if a.api != nil {
		a.api.Close()
	}
	if a.access != nil {
		a.access.Close() // the last uses of keys are written
	}
	if a.tokens != nil {
		a.tokens.Close()
	}
	if a.signIn != nil {
		a.signIn.Close()
	}
	if source := a.certificates.Load(); source != nil {
		source.Close()
	}
	if a.health != nil {
		a.health.Close()
	}
	if a.bus != nil {
		a.counter.Close()
		a.notices.Close()
		a.bus.Close()
	}
	if a.audit != nil {
		a.audit.Close()
	}
	if a.store != nil {
		if err := a.store.Close(); err != nil {
			a.log.Error("the store did not close cleanly", "error", err)
		}
		a.store = nil
		a.log.Info("stopped")
	}
}
