package aws

import (
	_ "embed" // of the schema
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

//go:embed schema.json
var schema []byte

const (
	defaultTimeout = 20 * time.Second
	defaultPoll    = 5 * time.Minute
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
func decode(data []byte) (Config, plugin.Problems) {
	var problems plugin.Problems
	c := Config{timeout: defaultTimeout, poll: defaultPoll}
	if !source.Decode(data, &c, &problems) {
		return c, problems
	}
	c.Endpoint = strings.TrimSuffix(c.Endpoint, "/")
	if c.Endpoint != "" {
		if u, err := url.Parse(c.Endpoint); err != nil || u.Hostname() == "" {
			problems.Add("/endpoint", plugin.SeverityError, "is no address, such as https://secretsmanager.eu-central-1.amazonaws.com")
		} else if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			problems.Add("/endpoint", plugin.SeverityWarning, "is without TLS: secrets cross the network in clear")
		}
	}
	source.Pace(c.Timeout, c.PollInterval, &c.timeout, &c.poll, &problems)
	return c, problems
}
