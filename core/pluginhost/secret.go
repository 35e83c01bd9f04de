package pluginhost

import (
	"context"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Secret returns the secret provider that a plugin is. As with Runtime, the value stays good over restarts,
// calls fail fast with a retryable UNAVAILABLE while the plugin is not ready, and Resolve, which changes
// nothing, is repeated once when the plugin ended during it. It is a secret.Watcher; Watch of a provider that
// cannot do that is UNIMPLEMENTED.
func (h *Host) Secret(name string) secret.Provider { return &secretOf{target{h, name}} }

type secretOf struct{ target }

var (
	_ secret.Provider = (*secretOf)(nil)
	_ secret.Watcher  = (*secretOf)(nil)
)

var secretKind = kindOf{
	code: func(err error) string { return string(secret.AsError(err).Code) },
	down: func(u *unavailable) error {
		return &secret.Error{
			Code: secret.CodeUnavailable, Message: u.reason, Retry: true, Hint: "wardroom plugin list shows the state of all plugins",
		}
	},
}

// Resolve implements secret.Provider.
func (s *secretOf) Resolve(ctx context.Context, refs []secret.Ref, caller secret.Caller) ([]secret.Result, error) {
	return call(ctx, s.target, secretKind, "resolve", true, func(c *plugin.Conn) ([]secret.Result, error) {
		return c.Secret().Resolve(ctx, refs, caller)
	})
}

// Watch implements secret.Watcher. A stream ends with an error when the plugin does.
func (s *secretOf) Watch(ctx context.Context, refs []secret.Ref) (secret.ChangeStream, error) {
	return call(ctx, s.target, secretKind, "watch", true, func(c *plugin.Conn) (secret.ChangeStream, error) {
		watcher, ok := c.Secret().(secret.Watcher)
		if !ok || !c.Has(plugin.FeatureSecretWatch) {
			return nil, secret.Errorf(secret.CodeUnimplemented, "the plugin %s does not tell of changes", s.name)
		}
		return watcher.Watch(ctx, refs)
	})
}
