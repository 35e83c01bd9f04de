package api

import "time"

// Config is the part of the API that an operator sets. All of it may change while the server runs.
type Config struct {
	MaxBody        int64         // bytes of a request body; default 10 MiB
	BodyTimeout    time.Duration // for a request body to arrive; default 60 s
	StallTimeout   time.Duration // for the next part of a request body to arrive; default 30 s
	MaxDefinition  int64         // bytes of a pattern definition; default 1 MiB
	MaxBatchInputs int           // items of a batch; default 1000
	MaxStreams     int           // event streams open at once; default 20000
	Hosts          []string      // beside loopback names and the address that is listened on, hosts that are served while there is no authentication
	CORSOrigins    []string      // origins of other sites that may call, or "*"; default none
	Heartbeat      time.Duration // between heartbeat comments of a stream; default 15 s
	StreamMaxAge   time.Duration // after which a stream ends and its reader comes back; default 1 h
	WriteTimeout   time.Duration // for which the reader of a stream may take nothing; default 5 s
	HSTS           bool          // answers over TLS tell browsers to stay with HTTPS for a year
	RecordReads    bool          // who reads executions and the like is in the audit trail at every level
	AccessLog      bool          // each request has its line in Options.AccessLog
	AllowedTypes   []string      // media types of bodies, forms left out, of those that a route takes; empty: all of them
	// Tags, and what could run, are taken out of messages and answers to agents.
	SanitizeHTML, SanitizeScripts bool

	MetricsPublic bool // metrics and detailed health need no credential
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		MaxBody:        10 << 20,
		BodyTimeout:    time.Minute,
		StallTimeout:   30 * time.Second,
		MaxDefinition:  1 << 20,
		MaxBatchInputs: 1000,
		MaxStreams:     20000,
		Heartbeat:      15 * time.Second,
		StreamMaxAge:   time.Hour,
		WriteTimeout:   5 * time.Second,
	}
}

// withDefaults fills fields that are zero.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	fill(&c.MaxBody, d.MaxBody)
	fill(&c.BodyTimeout, d.BodyTimeout)
	fill(&c.StallTimeout, d.StallTimeout)
	fill(&c.MaxDefinition, d.MaxDefinition)
	fill(&c.MaxBatchInputs, d.MaxBatchInputs)
	fill(&c.MaxStreams, d.MaxStreams)
	fill(&c.Heartbeat, d.Heartbeat)
	fill(&c.StreamMaxAge, d.StreamMaxAge)
	fill(&c.WriteTimeout, d.WriteTimeout)
	return c
}

func fill[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
