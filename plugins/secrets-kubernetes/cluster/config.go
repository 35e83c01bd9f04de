package cluster

import (
	_ "embed" // of the schema
	"time"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

//go:embed schema.json
var schema []byte

const (
	defaultTimeout = 10 * time.Second
	defaultPoll    = time.Minute
)

// Config is the configuration of the plugin; schema.json says what each field means.
type Config struct {
	Kubeconfig   string    `json:"kubeconfig"`
	Context      string    `json:"context"`
	Namespace    string    `json:"namespace"`
	SecretRef    SecretRef `json:"secretRef"`
	Timeout      string    `json:"timeout"`
	PollInterval string    `json:"pollInterval"`

	timeout, poll time.Duration // Timeout and PollInterval, read
}

// SecretRef names the secret and key that a reference without a path means.
type SecretRef struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// decode reads a configuration that satisfies the schema, fills in defaults, and finds what the schema cannot say. What
// may be mended without a change here is a warning.
func decode(data []byte) (Config, plugin.Problems) {
	var problems plugin.Problems
	c := Config{timeout: defaultTimeout, poll: defaultPoll}
	if !source.Decode(data, &c, &problems) {
		return c, problems
	}
	if c.Context != "" && c.Kubeconfig == "" {
		problems.Add("/context", plugin.SeverityError, "does nothing without kubeconfig")
	}
	source.Pace(c.Timeout, c.PollInterval, &c.timeout, &c.poll, &problems)
	if len(problems) > 0 {
		return c, problems
	}
	if conn, e := c.connect(); e == nil {
		conn.close()
	} else {
		path := "/kubeconfig"
		if c.Kubeconfig == "" {
			path = ""
		}
		problems.Add(path, plugin.SeverityWarning, "%s", e.Message)
	}
	return c, problems
}
