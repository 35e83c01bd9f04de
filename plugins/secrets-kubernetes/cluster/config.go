package cluster

import (
	"bytes"
	_ "embed" // of the schema
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/plugin"
)

//go:embed schema.json
var schema []byte

const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = 5 * time.Minute
	defaultPoll    = time.Minute
	minPoll        = time.Second
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

// SecretRef is what a reference without a path means.
type SecretRef struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// decode reads a configuration that satisfies the schema, fills in defaults, and finds what the schema cannot say. What
// may be mended without a change here is a warning.
func decode(data []byte) (Config, []plugin.Problem) {
	var problems []plugin.Problem
	add := func(path, severity, text string) {
		problems = append(problems, plugin.Problem{Path: path, Severity: severity, Text: text})
	}
	c := Config{timeout: defaultTimeout, poll: defaultPoll}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&c) != nil {
		add("", plugin.SeverityError, "is not of the form that the schema shows")
		return c, problems
	}
	if c.Context != "" && c.Kubeconfig == "" {
		add("/context", plugin.SeverityError, "does nothing without kubeconfig")
	}
	if d, err := time.ParseDuration(c.Timeout); c.Timeout != "" {
		if err != nil || d <= 0 || d > maxTimeout {
			add("/timeout", plugin.SeverityError, "must be a duration above zero and up to 5m")
		}
		c.timeout = d
	}
	if d, err := time.ParseDuration(c.PollInterval); c.PollInterval != "" {
		if err != nil || d < minPoll {
			add("/pollInterval", plugin.SeverityError, "must be a duration of 1s or more")
		}
		c.poll = d
	}
	if len(problems) > 0 {
		return c, problems
	}
	if _, e := c.connect(); e != nil {
		path := "/kubeconfig"
		if c.Kubeconfig == "" {
			path = ""
		}
		add(path, plugin.SeverityWarning, e.Message)
	}
	return c, problems
}
