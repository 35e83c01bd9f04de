package pluginhost

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret"
)

// services implements the host's services for one plugin.
type services struct {
	*kv
	child *child
	refs  map[string]bool // texts in its settings: what it may ask for
}

var (
	_ plugin.HostServices = (*services)(nil)
	_ plugin.KeyServices  = (*services)(nil)
)

// services makes the host's services for the child.
func (c *child) services() *services {
	s := &services{kv: newKV(c.host.kvFile(c.spec.Name)), child: c, refs: map[string]bool{}}
	var settings any
	if len(c.spec.Config) > 0 && json.Unmarshal(c.spec.Config, &settings) == nil {
		collectTexts(settings, s.refs)
	}
	return s
}

// Features implements plugin.Featured: a service that would refuse every call is not offered.
func (s *services) Features() []string {
	list := []string{plugin.FeatureHostKV, plugin.FeatureHostLog}
	if s.child.host.opts.Secrets != nil {
		list = append(list, plugin.FeatureHostSecret)
	}
	if s.child.host.opts.Keys != nil {
		list = append(list, plugin.FeatureHostStateKey)
	}
	return list
}

// StateKey implements plugin.KeyServices.
func (s *services) StateKey(ctx context.Context) ([]byte, error) {
	if s.child.host.opts.Keys == nil {
		return nil, &plugin.Error{Code: plugin.CodeUnimplemented, Message: "this host has no keys for plugins"}
	}
	return s.child.host.opts.Keys(ctx, s.child.spec.Name)
}

// collectTexts adds every text of a JSON value.
func collectTexts(value any, into map[string]bool) {
	switch value := value.(type) {
	case string:
		into[value] = true
	case []any:
		for _, item := range value {
			collectTexts(item, into)
		}
	case map[string]any:
		for _, item := range value {
			collectTexts(item, into)
		}
	}
}

// Secret implements plugin.HostServices.
func (s *services) Secret(ctx context.Context, ref string) (secret.Value, error) {
	if !s.refs[ref] {
		return secret.Value{}, &secret.Error{
			Code: secret.CodeForbidden, Message: "the reference does not stand in the settings of this plugin",
			Hint: "a plugin may look up what its own settings name, and nothing else",
		}
	}
	if s.child.host.opts.Secrets == nil {
		return secret.Value{}, &secret.Error{
			Code: secret.CodeNotConfigured, Message: "no secret provider is configured",
		}
	}
	v, err := s.child.host.opts.Secrets(ctx, s.child.spec.Name, ref)
	if err == nil {
		s.child.hidden.add(ref, string(v.Reveal()))
	}
	return v, err
}

// Log implements plugin.HostServices.
func (s *services) Log(_ context.Context, level hclog.Level, message string, fields map[string]string) error {
	var args []any
	size := 0
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		key, value := shorten(s.child.redact(name)), shortenTo(s.child.redact(fields[name]), ringLine)
		if size += len(key) + len(value); size > longestLine {
			break // the rest is as good as lost in it
		}
		args = append(args, key, value)
	}
	if !s.child.log.own("").write(level, shortenTo(s.child.redact(strings.TrimSpace(message)), ringLine), args) {
		return &plugin.Error{Code: plugin.CodeTooLarge, Message: "the plugin writes more than the log of the service takes", Retry: true}
	}
	return nil
}
