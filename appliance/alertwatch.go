package appliance

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/pluginhost"
)

// pluginWatch counts the states of plugins, and raises an alert for one that is put into quarantine.
type pluginWatch struct {
	*metrics.Plugins
	raise func(subject string, what core.Alert)
	why   func(plugin string) (reason, hint string)
	state func(plugin, state string) // called for conditions that last

	mu   sync.Mutex // guards last
	last map[string]string
}

var _ pluginhost.Metrics = (*pluginWatch)(nil)

// State implements pluginhost.Metrics.
func (w *pluginWatch) State(plugin, kind, state string) {
	w.Plugins.State(plugin, kind, state)
	w.mu.Lock()
	was := w.last[plugin]
	w.last[plugin] = state
	w.mu.Unlock()
	if was == state {
		return
	}
	if state == string(core.PluginQuarantined) || state == string(core.PluginReady) {
		w.state(plugin, state)
	}
	if state != string(core.PluginQuarantined) {
		return
	}
	reason, hint := w.why(plugin)
	w.raise(plugin, core.Alert{
		Severity: core.SeverityCritical, Message: "Plugin " + plugin + " is in quarantine: " + reason,
		Details: map[string]any{"plugin": plugin, "kind": kind, "reason": reason, "hint": hint},
	})
}

// unsafePlugins raises one alert for a file or directory that keeps plugins from starting, however many they are.
func (a *App) unsafePlugins(path, reason, hint string) {
	a.alerts.raise("plugins", core.Alert{
		Severity: core.SeverityCritical, Message: "Plugins do not start, as others could change their files: " + reason,
		Details: map[string]any{"path": path, "reason": reason, "hint": hint},
	})
}

// whyPlugin returns what a plugin says of its state.
func (a *App) whyPlugin(plugin string) (reason, hint string) {
	p, err := a.plugins.FindPlugin(a.work, plugin)
	if err != nil {
		return "", ""
	}
	return p.Reason, p.Hint
}

// Shares of the budget of free space at which the disk counts as low, and as well again. Below the budget itself the
// store takes no writes, so that an alert could not be stored any more.
const (
	spaceLow  = 2
	spaceWell = 3
)

// spaceWatch raises an alert before the store runs out of space.
type spaceWatch struct {
	raise   func(subject string, what core.Alert)
	measure func() (path string, free, budget uint64)
	low     bool
}

func (w *spaceWatch) look() {
	path, free, budget := w.measure()
	if w.low {
		w.low = free < spaceWell*budget
		return
	}
	if w.low = free < spaceLow*budget; w.low {
		w.raise("store", core.Alert{
			Severity: core.SeverityWarning,
			Message:  fmt.Sprintf("The store is low on space: %d MiB are free; with less than %d MiB it takes no writes", free>>20, budget>>20),
			Details:  map[string]any{"path": path, "freeBytes": free, "minFreeBytes": budget},
		})
	}
}

// space returns the bytes that are free on the disk of the store, and the least that it needs.
func (a *App) space() (path string, free, budget uint64) {
	c := a.config.Load().Store
	return c.Path, a.store.Stats().FreeBytes, uint64(c.MinFree)
}

// certificateNear is how long before its end a certificate is reported.
const certificateNear = 14 * 24 * time.Hour

// certificateWatch raises alerts for certificates of webhooks that end soon, and again for those that ended.
type certificateWatch struct {
	raise func(subject string, what core.Alert)
	clock core.Clock
	list  func(ctx context.Context) ([]*core.WebhookRecord, error)
	told  map[certificateKey]bool
}

type certificateKey struct {
	webhook string
	sum     [sha256.Size]byte
	ended   bool
}

func (w *certificateWatch) look(ctx context.Context) {
	list, err := w.list(ctx)
	if err != nil {
		return // the next look finds what there is
	}
	told := map[certificateKey]bool{} // of certificates that are still in use
	for _, hook := range list {
		if hook.Enabled {
			w.judge(hook, "client certificate", hook.ClientCert, told)
			w.judge(hook, "certificate of its authority", hook.CA, told)
		}
	}
	w.told = told
}

func (w *certificateWatch) judge(hook *core.WebhookRecord, what, text string, told map[certificateKey]bool) {
	now := w.clock.Now()
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || now.Add(certificateNear).Before(cert.NotAfter) {
			continue
		}
		key := certificateKey{hook.ID, sha256.Sum256(block.Bytes), !now.Before(cert.NotAfter)}
		if !w.told[key] && !told[key] {
			severity, word := core.SeverityWarning, "ends"
			if key.ended {
				severity, word = core.SeverityCritical, "ended"
			}
			end := cert.NotAfter.UTC().Format(time.RFC3339)
			w.raise(hook.ID, core.Alert{
				Severity: severity, Message: fmt.Sprintf("The %s of webhook %s %s at %s", what, hook.ID, word, end),
				Details: map[string]any{"webhookId": hook.ID, "certificate": what, "subject": cert.Subject.String(), "notAfter": end},
			})
		}
		told[key] = true
	}
}

func (a *App) pluginWatch() *pluginWatch {
	return &pluginWatch{Plugins: a.metrics.Plugins, raise: a.alerts.raise, why: a.whyPlugin, state: a.recordPlugin, last: map[string]string{}}
}
