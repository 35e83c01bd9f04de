package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Defaults of Options.
const (
	DefaultReconnectMin  = 50 * time.Millisecond
	DefaultReconnectMax  = 5 * time.Second
	DefaultShutdownGrace = 5 * time.Second
	DefaultMaxFrameBytes = 16 << 20

	DefaultMaxConcurrentMessages = 4
)

// Handler works on one task. It returns what becomes the task's result, encoded as JSON: usually an object,
// with a number "confidence" from 0 to 1 when the pattern votes. A returned error is reported as the task's
// error, see Error and Retryable. ctx ends when the task is cancelled, when its time is over, and when the
// agent stops; what a handler returns after a cancel is dropped. Handlers run concurrently, up to
// Options.MaxConcurrentTasks at once.
type Handler func(ctx context.Context, task *Task) (any, error)

// MessageHandler answers one message of another role, or of a person. What it returns becomes the reply, encoded as
// JSON; it is dropped when the message wants none. After an error there is no reply, and the server asks the next
// role once its time is over. ctx ends when the agent stops, or lost its session for good. Handlers run
// concurrently, up to Options.MaxConcurrentMessages at once; a message that comes again is not handled again but
// answered from memory.
type MessageHandler func(ctx context.Context, m *Incoming) (any, error)

// Options configure an Agent. URL, Name, Capabilities and Handler are required.
type Options struct {
	// URL is the base address of the server: http, https, ws or wss, for example http://127.0.0.1:8080.
	URL string
	// Token is sent as the bearer credential, when not empty.
	Token string
	// Name is what people see in the list of agents.
	Name string
	// Capabilities are what patterns ask for. An agent gets the tasks whose capabilities it has all of.
	Capabilities []string
	// Region is free text that patterns may prefer.
	Region string
	// Metadata is shown in the list of agents; the keys model and version have a place of their own there.
	Metadata map[string]any
	// MaxConcurrentTasks is how many handlers run at once, and how many tasks the server may have here.
	// Default 1.
	MaxConcurrentTasks int
	// TaskTimeout is the time this agent asks for per task where the pattern says nothing. 0: the server's.
	TaskTimeout time.Duration
	// Handler works on the tasks. An agent that hosts threads needs none, and no capabilities: it takes no tasks then.
	Handler Handler
	// Inline runs the handler on the goroutine that reads the connection, one task after the other, and sends
	// the answers of all tasks that arrived together in one write. For handlers that compute for well under a
	// millisecond and never block: it is the cheapest way, but a task cannot be cancelled while it runs,
	// has no deadline of its own, and a slow handler holds up everything else, heartbeats excepted.
	Inline bool

	// OnMessage answers messages of other roles of an org chart. nil: messages that want a reply get none, and
	// the server asks the next role once its time is over.
	OnMessage MessageHandler
	// MaxConcurrentMessages is how many calls of OnMessage run at once, besides the handlers of tasks. Default 4.
	MaxConcurrentMessages int

	// Threads, when set, offers to host threads.
	Threads *ThreadOptions

	// StateFile, when set, keeps the session's id and token, so that this agent, started anew after a crash,
	// resumes its session and gets its tasks again. After a graceful end the session is over, but its token lets the agent
	// register anew without another use of its registration token. It holds a credential and is written with mode 0600.
	StateFile string

	// Logger gets connects, losses and refusals, never one line per task. nil: nothing is logged.
	Logger *slog.Logger
	// OnRegistered is called after each registration, before the first task of the session, on the reading
	// goroutine: it must not block.
	OnRegistered func(protocol.Registered)
	// HeartbeatMetrics, when set, is called for each heartbeat for figures to send along. It must not block. NaN and the
	// infinities are left out.
	HeartbeatMetrics func() map[string]float64

	// ReconnectMin and ReconnectMax bound the wait before a new attempt to connect. The wait doubles from
	// one to the other and is jittered, down to its half. Defaults 50 ms and 5 s.
	ReconnectMin, ReconnectMax time.Duration
	// ShutdownGrace is how long a graceful end waits for cancelled handlers before it disconnects. Default 5 s.
	ShutdownGrace time.Duration
	// MaxFrameBytes is the largest frame taken from the server. Default 16 MiB.
	MaxFrameBytes int64

	// TLS configures https and wss, for example with a client certificate. nil: the system's roots.
	TLS *tls.Config
	// Header holds further header fields of the connect request.
	Header http.Header
	// DialContext replaces the dialer of the network connection. nil: a net.Dialer.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
}

// withDefaults returns o with defaults filled in, and every problem of it as one error.
func (o Options) withDefaults() (Options, *url.URL, error) {
	var problems []error
	target, err := connectURL(o.URL)
	if err != nil {
		problems = append(problems, err)
	}
	if strings.TrimSpace(o.Name) == "" {
		problems = append(problems, errors.New("name is empty"))
	}
	if o.Threads != nil {
		threads := *o.Threads
		threads.Types = append([]string(nil), threads.Types...)
		o.Threads = &threads
		if err := threads.check(o.StateFile); err != nil {
			problems = append(problems, err)
		}
		if o.Handler == nil {
			o.Handler = refuseTasks
		}
	}
	o.Capabilities, err = o.capabilities(o.Capabilities)
	if err != nil {
		problems = append(problems, err)
	}
	if o.Handler == nil {
		problems = append(problems, errors.New("handler is nil"))
	}
	if _, err := json.Marshal(o.Metadata); err != nil {
		problems = append(problems, fmt.Errorf("metadata cannot be encoded as JSON: %w", err))
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"task timeout", &o.TaskTimeout, 0},
		{"reconnect minimum", &o.ReconnectMin, DefaultReconnectMin},
		{"reconnect maximum", &o.ReconnectMax, max(DefaultReconnectMax, o.ReconnectMin)},
		{"shutdown grace", &o.ShutdownGrace, DefaultShutdownGrace},
	} {
		if *d.value < 0 {
			problems = append(problems, fmt.Errorf("%s is negative", d.name))
		}
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	if o.ReconnectMax < o.ReconnectMin {
		problems = append(problems, fmt.Errorf("reconnect maximum %s is below the minimum %s", o.ReconnectMax, o.ReconnectMin))
	}
	if o.MaxConcurrentTasks < 0 {
		problems = append(problems, fmt.Errorf("max concurrent tasks is %d, must not be negative", o.MaxConcurrentTasks))
	}
	if o.MaxConcurrentMessages < 0 {
		problems = append(problems, fmt.Errorf("max concurrent messages is %d, must not be negative", o.MaxConcurrentMessages))
	}
	if o.MaxFrameBytes < 0 {
		problems = append(problems, fmt.Errorf("max frame bytes is %d, must not be negative", o.MaxFrameBytes))
	}
	o.MaxConcurrentTasks = cmp.Or(o.MaxConcurrentTasks, 1)
	o.MaxConcurrentMessages = cmp.Or(o.MaxConcurrentMessages, DefaultMaxConcurrentMessages)
	o.MaxFrameBytes = cmp.Or(o.MaxFrameBytes, DefaultMaxFrameBytes)
	if o.Threads != nil {
		o.MaxFrameBytes = max(o.MaxFrameBytes, protocol.MaxServerFrame)
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if len(problems) > 0 {
		return o, nil, fmt.Errorf("agent: bad options: %w", errors.Join(problems...))
	}
	return o, target, nil
}

// capabilities returns a copy of a list of capabilities, and every problem for which no server takes it as one error.
func (o *Options) capabilities(list []string) ([]string, error) {
	if len(list) == 0 && o.Threads != nil {
		return []string{ThreadsCapability}, nil
	}
	var problems []error
	if len(list) == 0 {
		problems = append(problems, errors.New("capabilities are empty: no pattern could ever choose this agent"))
	}
	for i, c := range list {
		if strings.TrimSpace(c) == "" {
			problems = append(problems, fmt.Errorf("capabilities[%d] is empty", i))
		}
	}
	return append([]string(nil), list...), errors.Join(problems...)
}

// ThreadsCapability is the capability of an agent that hosts threads and names none: the server wants one at least.
const ThreadsCapability = "threads"

// refuseTasks is the handler of an agent that takes no tasks.
func refuseTasks(context.Context, *Task) (any, error) {
	return nil, Retryable(errors.New("this agent hosts threads and takes no tasks"))
}

// connectURL turns a server's base address into the address agents connect to.
func connectURL(base string) (*url.URL, error) {
	if base == "" {
		return nil, errors.New("url is empty")
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	switch u.Scheme {
	case "http", "ws":
		u.Scheme = "ws"
	case "https", "wss":
		u.Scheme = "wss"
	default:
		return nil, fmt.Errorf("url %q: the scheme must be http, https, ws or wss", base)
	}
	if u.Host == "" {
		return nil, fmt.Errorf("url %q has no host", base)
	}
	path := strings.TrimSuffix(u.Path, "/")
	if !strings.HasSuffix(path, protocol.Path) {
		path += protocol.Path
	}
	u.Path, u.Fragment = path, ""
	return u, nil
}
