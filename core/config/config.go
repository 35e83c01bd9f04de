package config

import (
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// Config is the whole effective configuration. A key is written here and nowhere else: the comment of its field is
// the text for operators, the tags are those of core/internal/schema. Beside them reload:"live" says that a running
// process takes over the key, or every key of a section, on SIGHUP, and each:"..." is the text for an entry.
// int64 is a number of bytes.
type Config struct {
	// The HTTP server.
	Server Server `json:"server"`
	// The durable state.
	Store Store `json:"store"`
	// Programs that extend Wardroom.
	Plugins Plugins `json:"plugins"`
	// Where managed agents run.
	Runtimes map[string]*Runtime `json:"runtimes" entry:"a runtime" each:"One runtime, under the name that requests use: a plugin, or a server under a URL."`
	// Programs that runtimes may run as agents, beside claude, codex and gemini.
	AgentTypes map[string]*AgentType `json:"agentTypes" entry:"an agent type" reserved:"claude,codex,gemini: every runtime knows it already" each:"One agent type, under the name that requests use."`
	// The Prometheus endpoint.
	Metrics Metrics `json:"metrics" reload:"live"`
	// How much work runs at once, and for how long.
	Engine Engine `json:"engine" reload:"live"`
	// Managed threads: long-lived work of single agents in workspaces of their own.
	Threads Threads `json:"threads" reload:"live"`
	// Signed callbacks that tell other systems of events.
	Webhooks Webhooks `json:"webhooks" reload:"live"`
	// Agents that connect over WebSocket.
	Agents Agents `json:"agents"`
	// Event streams to clients.
	Streams Streams `json:"streams" reload:"live"`
	// What other systems receive about how the work goes.
	Observability Observability `json:"observability" reload:"live"`
	// Who may do what.
	Security Security `json:"security"`
	// The log of the process.
	Log Log `json:"log"`

	files  []string                // what was read, in the order it was applied
	filled []string                // those of files that hold more than space and comments
	places map[string]schema.Place // where each key that is not a default was set last
}

// Default returns a new Config with the default of every key.
func Default() *Config {
	c := &Config{}
	rules.SetDefaults(reflect.ValueOf(c).Elem())
	return c
}

// Environments of server.environment.
const (
	Production  = "production"
	Development = "development"
)

// Values of engine.roleBinding.
const (
	BindAuto      = "auto"
	BindConnected = "connected"
	BindManaged   = "managed"
)

// Server is the HTTP listener.
type Server struct {
	// Address and port of the HTTP server. While no security is configured, only a loopback address is accepted.
	Listen string `json:"listen" default:"127.0.0.1:8080" check:"is=listen"`
	// What the machine is for. Development relaxes rules that guard production, such as https for webhook targets.
	Environment string `json:"environment" default:"production" enum:"production,development"`
	// Address under which clients reach this server, when it stands behind a proxy; named in the OpenAPI document.
	// Empty: the address that a client used.
	BaseURL string `json:"baseUrl" check:"is=url"`
	// Further names under which this server is reached. While no security is configured, requests for other hosts than
	// loopback names, the listen address, the host of baseUrl and these are refused, so that no web page can have its
	// own name pointed here.
	Hosts []string `json:"hosts" check:"is=host" reload:"live"`
	// Socket by which root and the user of the service reach the server on its own machine, with all rights. Empty:
	// admin.sock in $RUNTIME_DIRECTORY, which a service manager makes, else in store.path.
	AdminSocket string `json:"adminSocket" check:"path"`
	// Largest request body.
	MaxBody int64 `json:"maxBody" default:"10MiB" check:"size,min=64KiB,max=1GiB"`
	// Largest pattern definition.
	MaxDefinition int64 `json:"maxDefinition" default:"1MiB" check:"size,min=4KiB,max=64MiB"`
	// How long a stop waits for requests in flight. Work that is not finished goes on at the next start.
	ShutdownTimeout time.Duration `json:"shutdownTimeout" default:"30s" check:"min=1s,max=10m"`
	// How long a client may take to send the header of a request.
	ReadHeaderTimeout time.Duration `json:"readHeaderTimeout" default:"10s" check:"min=1s,max=5m"`
	// How long a client may take to send the body of a request.
	BodyTimeout time.Duration `json:"bodyTimeout" default:"1m" check:"min=1s,max=1h"`
	ConnectionLimits
	// Web pages of other origins.
	CORS CORS `json:"cors" reload:"live"`
	// The console, a web page that shows and steers everything.
	Console Console `json:"console"`
	// The documentation, as web pages.
	Docs Docs `json:"docs"`
}

// Console is the web console.
type Console struct {
	// Whether the server serves the console, at / below the path of server.baseUrl. It does what its user may do over the API.
	Enabled bool `json:"enabled" default:"true"`
}

// Docs is the documentation that the server serves.
type Docs struct {
	// Whether the server serves its documentation, at /docs below the path of server.baseUrl, to everybody who reaches it.
	Enabled bool `json:"enabled" default:"true"`
}

// ConnectionLimits bound the connections of clients.
type ConnectionLimits struct {
	// How long a client may take nothing of what is sent to it, or send nothing of a body that it began, before its
	// connection is closed. One that is slow, but goes on, keeps it.
	StallTimeout time.Duration `json:"stallTimeout" default:"30s" check:"min=1s,max=10m" reload:"live"`
	// Connections open at once, streams, terminals and agents included. Fewer where the system grants fewer open
	// files. Beyond that, new ones are closed at once.
	MaxConnections int `json:"maxConnections" default:"50000" check:"min=16,max=1000000" reload:"live"`
	// The same for the connections of one address. 0: no limit of its own, as a server behind a proxy needs it.
	MaxConnectionsPerAddress int `json:"maxConnectionsPerAddress" check:"min=0,max=1000000" reload:"live"`
}

// CORS says which web pages of other origins may call the API.
type CORS struct {
	// Origins (scheme://host[:port]) whose web pages may call the API. Empty refuses every cross-origin request.
	Origins []string `json:"origins" check:"is=origin"`
}

// Store is the durable state.
type Store struct {
	// Directory of the database. Only one process may use it.
	Path string `json:"path" default:"/var/lib/wardroom" check:"is=notEmpty,path"`
	// Free disk space below which writes are refused, so that nothing acknowledged is lost on a full disk. Reads go
	// on.
	MinFree int64 `json:"minFree" default:"256MiB" check:"size,min=64MiB"`
	// After an upgrade whose store has another form, write it to before-migration.dump in its directory before it is
	// changed, for `wardroom store restore` by the former version. That takes as much disk as the uncompressed store.
	DumpBeforeMigration bool `json:"dumpBeforeMigration" default:"true"`
	// How long finished things are kept, and how much of them. `wardroom store usage` shows what each kind takes.
	Retention Retention `json:"retention" reload:"live"`
}

// Retention is how long finished things are kept, and how much of them.
type Retention struct {
	// How long a finished execution is kept.
	Executions time.Duration `json:"executions" default:"720h" check:"min=1h"`
	// How long entries of the event log are kept; journals of executions live as long as these.
	Events time.Duration `json:"events" default:"720h" check:"min=1h"`
	// How long a finished batch is kept.
	Batches time.Duration `json:"batches" default:"720h" check:"min=1h"`
	// How long the record of a disconnected agent is kept.
	Agents time.Duration `json:"agents" default:"24h" check:"min=1m"`
	// How long Idempotency-Key records are kept. A key counts for 24h, so shorter is refused.
	Idempotency time.Duration `json:"idempotency" default:"24h" check:"min=1d"`
	// What executions may take with all that belongs to them, before it is compressed. Beyond that the oldest finished
	// ones go, whatever their age. 0: any size.
	MaxExecutionBytes int64 `json:"maxExecutionBytes" check:"size,min=0"`
	// The same for the event log.
	MaxEventBytes int64 `json:"maxEventBytes" check:"size,min=0"`
}

// Metrics is the Prometheus endpoint.
type Metrics struct {
	// Serve metrics and detailed health without a credential.
	Public bool `json:"public"`
}

// Engine bounds the work in hand.
type Engine struct {
	// Executions that run at once. More wait in the queue. One that only waits, for people or agents, is not counted.
	MaxActive int `json:"maxActive" default:"1000" check:"min=1,max=1000000"`
	// Executions that wait. Beyond that, new ones are refused with 429. The last tenth is kept for patterns that have
	// little in the queue.
	MaxQueued int `json:"maxQueued" default:"10000" check:"min=1,max=10000000"`
	// Bytes of input that executions which are not over hold in memory. Beyond that, new ones are refused with 429.
	// The last tenth is kept as above.
	MaxQueuedBytes int64 `json:"maxQueuedBytes" default:"512MiB" check:"size,min=16MiB"`
	// Executions of one pattern that run at once, unless the pattern says otherwise. 0: no limit.
	MaxActivePerPattern int `json:"maxActivePerPattern" check:"min=0,max=1000000"`
	// Time limit of an execution when neither the request nor the pattern sets one.
	DefaultTimeout time.Duration `json:"defaultTimeout" default:"5m" check:"min=1s"`
	// Longest time limit that a request or a pattern may set.
	MaxTimeout time.Duration `json:"maxTimeout" default:"24h" check:"min=1s"`
	// Time limit of one task at one agent when the pattern sets none.
	TaskTimeout time.Duration `json:"taskTimeout" default:"30s" check:"min=100ms"`
	// How often a task is given to another agent after a retryable error or a lost agent.
	TaskRetries int `json:"taskRetries" default:"2" check:"min=0,max=100"`
	// Inputs that one batch may have.
	MaxBatchInputs int `json:"maxBatchInputs" default:"1000" check:"min=1,max=1000000"`
	// Waiting time after which a queued execution rises by one priority, so that none starves. Patterns of the same
	// priority take turns.
	PriorityAging time.Duration `json:"priorityAging" default:"30s" check:"min=1s"`
	// Which agents serve roles of org charts that are not marked managed: connected ones, those that a runtime spawns
	// for roles that name agent types, or (auto) spawned ones only where too few are connected.
	RoleBinding string `json:"roleBinding" default:"auto" enum:"auto,connected,managed"`
	// How long people have to answer a question of an org chart. The execution waits for it; a question without an answer
	// fails it.
	QuestionTimeout time.Duration `json:"questionTimeout" default:"168h" check:"min=1s,max=365d"`
}

// Agents is the agent listener. The embedded part may change while the process runs.
type Agents struct {
	AgentLimits
	// Connections of agents open at once. Beyond that, new ones are refused with 503.
	MaxSessions int `json:"maxSessions" default:"20000" check:"min=1,max=1000000"`
	// Largest message taken from an agent.
	MaxMessage int64 `json:"maxMessage" default:"1MiB" check:"size,min=4KiB,max=64MiB"`
	// Bytes that wait for one slow agent before its connection is closed.
	SendBuffer int64 `json:"sendBuffer" default:"4MiB" check:"size,min=64KiB,max=1GiB"`
}

// AgentLimits are the intervals and limits that running sessions take over on a reload.
type AgentLimits struct {
	// How often a connected agent reports that it is alive.
	HeartbeatInterval time.Duration `json:"heartbeatInterval" default:"10s" check:"min=1s,max=10m" reload:"live"`
	// Missed heartbeats after which an agent counts as unhealthy and gets no new tasks.
	UnhealthyAfter int `json:"unhealthyAfter" default:"2" check:"min=1,max=100" reload:"live"`
	// Missed heartbeats after which the connection of an agent is closed.
	DisconnectAfter int `json:"disconnectAfter" default:"3" check:"min=2,max=100" reload:"live"`
	// How long an agent whose connection was lost keeps its tasks before they go to others.
	ResumeGrace time.Duration `json:"resumeGrace" default:"30s" check:"min=100ms,max=1d" reload:"live"`
	// Messages that one agent may send per second over time.
	MessagesPerSecond int `json:"messagesPerSecond" default:"100" check:"min=1,max=1000000" reload:"live"`
	// How long a disconnected agent stays listed.
	KeepDisconnected time.Duration `json:"keepDisconnected" default:"24h" check:"min=1s" reload:"live"`
	// How long a new connection may take to register.
	RegisterTimeout time.Duration `json:"registerTimeout" default:"10s" check:"min=1s,max=10m" reload:"live"`
}

// Streams is what every event stream to a client keeps to.
type Streams struct {
	// Streams open at once. Beyond that, new ones are refused with 429.
	MaxOpen int `json:"maxOpen" default:"20000" check:"min=1,max=1000000"`
	// How often a silent stream sends a comment that keeps proxies from closing it.
	Heartbeat time.Duration `json:"heartbeat" default:"15s" check:"min=1s,max=10m"`
	// Age at which a stream is ended; clients resume where it ended.
	MaxAge time.Duration `json:"maxAge" default:"1h" check:"min=1m"`
	// How long the reader of a stream may take nothing of it before it is closed. It comes back with the last event
	// that it has. One that is slow, but goes on, keeps it.
	WriteTimeout time.Duration `json:"writeTimeout" default:"5s" check:"min=100ms,max=5m"`
}

// Log is the process log on stderr.
type Log struct {
	// Least severe messages that are logged.
	Level string `json:"level" default:"info" enum:"trace,debug,info,warn,error" reload:"live"`
	// Levels of parts of the server, which go before log.level: the name of a part, as lines have it, and its level. That of a
	// plugin is plugins.NAME, and plugins is all of them.
	Parts map[string]string `json:"parts" reload:"live"`
	// Form of the log on stderr: text for people, json for machines. auto is text.
	Format string `json:"format" default:"auto" enum:"auto,text,json"`
	// Whether each request to the API has a line of JSON on stderr as well: who asked for which route, and what came of it.
	// Nothing that a client sent but its request id is in it.
	Access bool `json:"access" reload:"live"`
}

// Files returns the files the configuration was read from, the main one first; none for Default.
func (c *Config) Files() []string { return append([]string(nil), c.files...) }

// ServedHosts lists the hosts under which the server is reached, beside loopback names: that of Listen, that of BaseURL,
// and Hosts.
func (s Server) ServedHosts() []string {
	hosts := slices.Clone(s.Hosts)
	if host, _, err := net.SplitHostPort(s.Listen); err == nil {
		if addr, err := netip.ParseAddr(host); host != "" && (err != nil || !addr.IsUnspecified()) {
			hosts = append(hosts, host)
		}
	}
	if u, err := url.Parse(s.BaseURL); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	return hosts
}

// BasePath is the path of BaseURL, escaped and without the slash at its end: "" for one without a path, and for none. It goes
// before each address that the server leads browsers to, whether or not a proxy takes it away on the way.
func (s Server) BasePath() string {
	u, err := url.Parse(s.BaseURL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// LoopbackOnly reports whether Listen can be reached from this machine only. A host name other than
// localhost is not resolved, and counts as reachable from elsewhere.
func (s Server) LoopbackOnly() bool {
	host, _, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// FormatSize writes a number of bytes as the configuration shows it: "10MiB", "1500".
func FormatSize(n int64) string { return schema.FormatSize(n) }

// ParseDuration reads a duration as the configuration has it: "90d", "1h30m".
func ParseDuration(text string) (time.Duration, error) { return schema.ParseDuration(text) }
