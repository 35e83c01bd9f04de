package source

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret"
)

const (
	maxTimeout = 5 * time.Minute
	minPoll    = time.Second
)

// Decode reads a configuration that satisfies its schema into a struct, and reports whether it has its form.
func Decode(data []byte, into any, problems *plugin.Problems) bool {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if decoder.Decode(into) == nil {
		return true
	}
	problems.Add("", plugin.SeverityError, "is not of the form that the schema shows")
	return false
}

// Pace reads the keys timeout and pollInterval, which every provider has, over their defaults.
func Pace(timeoutText, pollText string, timeout, poll *time.Duration, problems *plugin.Problems) {
	if d, err := time.ParseDuration(timeoutText); timeoutText != "" {
		if err != nil || d <= 0 || d > maxTimeout {
			problems.Add("/timeout", plugin.SeverityError, "must be a duration above zero and up to 5m")
		}
		*timeout = d
	}
	if d, err := time.ParseDuration(pollText); pollText != "" {
		if err != nil || d < minPoll {
			problems.Add("/pollInterval", plugin.SeverityError, "must be a duration of 1s or more")
		}
		*poll = d
	}
}

// Definition returns the plugin of a provider with one schema: decode reads its configuration, and open makes the provider
// of one without errors. Name, Version and Examples are the caller's to add.
func Definition[C any](
	schema []byte, decode func([]byte) (C, plugin.Problems), open func(context.Context, C, plugin.Host) (plugin.Service, error),
) plugin.Definition {
	return plugin.Definition{
		Kind: plugin.KindSecret, Schema: schema,
		Validate: func(_ context.Context, config json.RawMessage) []plugin.Problem {
			_, problems := decode(config)
			return problems
		},
		Configure: func(ctx context.Context, raw json.RawMessage, host plugin.Host) (plugin.Service, error) {
			c, problems := decode(raw)
			for _, p := range problems {
				if p.Severity == plugin.SeverityError {
					return plugin.Service{}, secret.Errorf(secret.CodeNotConfigured, "%s: %s", p.Path, p.Text)
				}
			}
			return open(ctx, c, host)
		},
	}
}
