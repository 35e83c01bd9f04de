package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// Config is the whole effective configuration. The comment of each field gives what its type cannot; the
// text for operators, with bounds and units, is in the table of fields.
type Config struct {
	Server     Server
	Store      Store
	Plugins    Plugins
	Runtimes   map[string]*Runtime   // by the name that requests use
	AgentTypes map[string]*AgentType // by the name that requests use
	Metrics    Metrics
	Engine     Engine
	Threads    Threads
	Webhooks   Webhooks
	Agents     Agents
	Streams    Streams
	Log        Log

	files   []string          // what was read, in the order it was applied
	origins map[string]origin // where each key that is not a default was set last
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
	Listen            string   // host:port; port 0 takes a free one
	Environment       string   // Production or Development
	BaseURL           string   // without a trailing slash, or empty
	Hosts             []string // further names under which the server is reached, lower case
	CORS              CORS
	MaxBody           int64 // bytes
	MaxDefinition     int64 // bytes
	ShutdownTimeout   time.Duration
	ReadHeaderTimeout time.Duration
	BodyTimeout       time.Duration
	ConnectionLimits
}

// ConnectionLimits bound the connections of clients.
type ConnectionLimits struct {
	StallTimeout             time.Duration // for which a client may take or send nothing
	MaxConnections           int
	MaxConnectionsPerAddress int // 0: no limit of its own
}

// CORS says which web pages of other origins may call the API.
type CORS struct {
	Origins []string // scheme://host[:port], lower case; empty refuses all
}

// Store is the durable state.
type Store struct {
	Path      string // absolute
	MinFree   int64  // bytes
	Retention Retention
}

// Retention is how long finished things are kept, and how much of them.
type Retention struct {
	Executions  time.Duration
	Events      time.Duration
	Batches     time.Duration
	Agents      time.Duration
	Idempotency time.Duration

	MaxExecutionBytes int64 // 0: any size; so is the next
	MaxEventBytes     int64
}

// Metrics is the Prometheus endpoint.
type Metrics struct {
	Public bool
}

// Engine bounds the work in hand.
type Engine struct {
	MaxActive           int   // executions
	MaxQueued           int   // executions
	MaxQueuedBytes      int64 // bytes of input
	MaxActivePerPattern int   // executions; 0 is no limit
	DefaultTimeout      time.Duration
	MaxTimeout          time.Duration
	TaskTimeout         time.Duration
	TaskRetries         int // attempts after the first
	MaxBatchInputs      int
	PriorityAging       time.Duration
	RoleBinding         string // BindAuto, BindConnected or BindManaged
	QuestionTimeout     time.Duration
}

// Agents is the agent listener. The embedded part may change while the process runs.
type Agents struct {
	AgentLimits
	MaxSessions int
	MaxMessage  int64 // bytes
	SendBuffer  int64 // bytes
}

// AgentLimits are the intervals and limits that running sessions take over on a reload.
type AgentLimits struct {
	HeartbeatInterval time.Duration
	UnhealthyAfter    int // missed heartbeats
	DisconnectAfter   int // missed heartbeats
	ResumeGrace       time.Duration
	MessagesPerSecond int
	KeepDisconnected  time.Duration
	RegisterTimeout   time.Duration
}

// Streams is what every event stream to a client keeps to.
type Streams struct {
	MaxOpen      int
	Heartbeat    time.Duration
	MaxAge       time.Duration
	WriteTimeout time.Duration
}

// Log is the process log on stderr.
type Log struct {
	Level  string // trace, debug, info, warn or error
	Format string // auto, text or json
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

// LoopbackOnly tells whether Listen can be reached from this machine only. A host name other than
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
