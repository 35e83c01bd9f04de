package aws

import (
	"bytes"
	_ "embed" // of the schema
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/plugin"
)

//go:embed schema.json
var schema []byte

const (
	defaultTimeout = 20 * time.Second
	maxTimeout     = 5 * time.Minute
	defaultPoll    = 5 * time.Minute
	minPoll        = time.Second
)

// Config is the configuration of the plugin; schema.json says what each field means.
type Config struct {
	Region       string `json:"region"`
	SecretPrefix string `json:"secretPrefix"`
	Endpoint     string `json:"endpoint"`
	Timeout      string `json:"timeout"`
	PollInterval string `json:"pollInterval"`

	timeout, poll time.Duration // Timeout and PollInterval, read
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
	c.Endpoint = strings.TrimSuffix(c.Endpoint, "/")
	if c.Endpoint != "" {
		if u, err := url.Parse(c.Endpoint); err != nil || u.Hostname() == "" {
			add("/endpoint", plugin.SeverityError, "is no address, such as https://secretsmanager.eu-central-1.amazonaws.com")
		} else if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			add("/endpoint", plugin.SeverityWarning, "is without TLS: secrets cross the network in clear")
		}
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
	return c, problems
}
