package agents

import (
	"cmp"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Config holds intervals and limits. All of it may change while the service runs; a zero field means its
// default.
type Config struct {
	HeartbeatInterval time.Duration // between two heartbeats of an agent
	UnhealthyAfter    int           // missed heartbeats until an agent gets no new tasks
	DisconnectAfter   int           // missed heartbeats until its connection is dropped; more than UnhealthyAfter
	ResumeGrace       time.Duration // a lost agent keeps its tasks this long
	RegisterTimeout   time.Duration // from the upgrade to the register frame
	TaskTimeout       time.Duration // told to agents that ask for none
	KeepDisconnected  time.Duration // a disconnected agent stays listed this long

	MaxMessage        int64         // bytes of one frame from an agent; larger ones close with 1009
	MessagesPerSecond int           // sustained, of an agent; first reports on handed-out tasks are free
	FloodTolerance    time.Duration // a rate that stays above the limit this long closes with 4429
	Region            string        // agents that declare another one are refused; "": none are
	MaxSendBytes      int           // bytes queued towards one agent; more close with 1013
	MaxUnsettled      int           // reports of one session the engine holds; more pause reading
	MaxUnsettledBytes int           // bytes of those reports
	SettleTimeout     time.Duration // a report unsettled for so long closes with 1013; the agent sends it again
	WriteTimeout      time.Duration // an agent that takes nothing, or less than 64 KiB in this time, is closed with 1013
	CloseTimeout      time.Duration // real time for the closing handshake

	MaxSessions     int           // open connections; more are refused with 503
	MaxPerPrincipal int           // open connections of one principal with a credential; more are refused with 429; 0: no limit
	MaxDisconnected int           // disconnected agents kept at most, the newest
	SaveInterval    time.Duration // statistics are stored at most this often
}

// DefaultConfig returns the defaults that the product's decisions settle.
func DefaultConfig() Config {
	return Config{
		HeartbeatInterval: 10 * time.Second,
		UnhealthyAfter:    2,
		DisconnectAfter:   3,
		ResumeGrace:       30 * time.Second,
		RegisterTimeout:   10 * time.Second,
		TaskTimeout:       30 * time.Second,
		KeepDisconnected:  24 * time.Hour,
		MaxMessage:        1 << 20,
		MessagesPerSecond: 100,
		FloodTolerance:    10 * time.Second,
		MaxSendBytes:      4 << 20,
		MaxUnsettled:      1024,
		MaxUnsettledBytes: 16 << 20,
		SettleTimeout:     30 * time.Second,
		WriteTimeout:      30 * time.Second,
		CloseTimeout:      2 * time.Second,
		MaxSessions:       20000,
		MaxDisconnected:   20000,
		SaveInterval:      30 * time.Second,
	}
}

// withDefaults fills zero fields.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	return Config{
		HeartbeatInterval: cmp.Or(c.HeartbeatInterval, d.HeartbeatInterval),
		UnhealthyAfter:    cmp.Or(c.UnhealthyAfter, d.UnhealthyAfter),
		DisconnectAfter:   cmp.Or(c.DisconnectAfter, d.DisconnectAfter),
		ResumeGrace:       cmp.Or(c.ResumeGrace, d.ResumeGrace),
		RegisterTimeout:   cmp.Or(c.RegisterTimeout, d.RegisterTimeout),
		TaskTimeout:       cmp.Or(c.TaskTimeout, d.TaskTimeout),
		KeepDisconnected:  cmp.Or(c.KeepDisconnected, d.KeepDisconnected),
		MaxMessage:        cmp.Or(c.MaxMessage, d.MaxMessage),
		MessagesPerSecond: cmp.Or(c.MessagesPerSecond, d.MessagesPerSecond),
		FloodTolerance:    cmp.Or(c.FloodTolerance, d.FloodTolerance),
		MaxSendBytes:      cmp.Or(c.MaxSendBytes, d.MaxSendBytes),
		MaxUnsettled:      cmp.Or(c.MaxUnsettled, d.MaxUnsettled),
		MaxUnsettledBytes: cmp.Or(c.MaxUnsettledBytes, d.MaxUnsettledBytes),
		SettleTimeout:     cmp.Or(c.SettleTimeout, d.SettleTimeout),
		WriteTimeout:      cmp.Or(c.WriteTimeout, d.WriteTimeout),
		CloseTimeout:      cmp.Or(c.CloseTimeout, d.CloseTimeout),
		MaxSessions:       cmp.Or(c.MaxSessions, d.MaxSessions),
		MaxPerPrincipal:   c.MaxPerPrincipal,
		Region:            c.Region,
		MaxDisconnected:   cmp.Or(c.MaxDisconnected, d.MaxDisconnected),
		SaveInterval:      cmp.Or(c.SaveInterval, d.SaveInterval),
	}
}

// Validate checks relations between the fields, defaults filled in. VALIDATION_ERROR with every problem.
func (c Config) Validate() error {
	c = c.withDefaults()
	var problems []core.Problem
	bad := func(field, reason string) { problems = append(problems, core.Problem{Path: field, Reason: reason}) }
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"heartbeatInterval", c.HeartbeatInterval}, {"resumeGrace", c.ResumeGrace},
		{"registerTimeout", c.RegisterTimeout}, {"taskTimeout", c.TaskTimeout},
		{"keepDisconnected", c.KeepDisconnected}, {"floodTolerance", c.FloodTolerance},
		{"settleTimeout", c.SettleTimeout}, {"writeTimeout", c.WriteTimeout},
		{"closeTimeout", c.CloseTimeout}, {"saveInterval", c.SaveInterval},
	} {
		if d.value < 0 {
			bad(d.field, "must be above zero")
		}
	}
	for _, n := range []struct {
		field string
		value int64
	}{
		{"unhealthyAfter", int64(c.UnhealthyAfter)}, {"maxMessage", c.MaxMessage},
		{"messagesPerSecond", int64(c.MessagesPerSecond)}, {"maxSendBytes", int64(c.MaxSendBytes)},
		{"maxUnsettled", int64(c.MaxUnsettled)}, {"maxUnsettledBytes", int64(c.MaxUnsettledBytes)},
		{"maxSessions", int64(c.MaxSessions)}, {"maxDisconnected", int64(c.MaxDisconnected)},
	} {
		if n.value < 1 {
			bad(n.field, "must be at least 1")
		}
	}
	if c.DisconnectAfter <= c.UnhealthyAfter {
		bad("disconnectAfter", "must be more than unhealthyAfter")
	}
	return core.InvalidAll("agents configuration", problems)
}
