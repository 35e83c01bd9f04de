package appliance

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/webhook"
	"github.com/wardroom/wardroom/core/webhook/target"
)

var _ webhook.Observer = (*metrics.Webhooks)(nil)

// maxPEM bounds a file of certificates.
const maxPEM = 256 << 10

// openWebhooks starts the deliveries of events. What was written before goes on from where it was.
func (a *App) openWebhooks(ctx context.Context) error {
	c := a.config.Load()
	hooks, err := webhookConfig(c)
	if err != nil {
		return err
	}
	key, err := sealKey(c.Store.Path, webhookKeyFile)
	if err != nil {
		return err
	}
	a.webhooks = webhook.New(webhook.Options{
		Store: a.store, Clock: a.clock, IDs: a.ids, Logger: a.log.Named("webhooks"), Config: hooks, SealKey: key,
		Version: a.opts.Version, Observer: a.metrics.Webhooks, Mask: &a.masker, Tracer: a.tracing, Notice: a.notice,
		Secrets: a.secrets.Requested("webhook"), DeclaredSecrets: a.secrets.Configured("webhook"),
	})
	if err := a.webhooks.Open(ctx); err != nil {
		return c.Refused(err)
	}
	a.publish.Store(a.webhooks)
	return nil
}

// webhookConfig picks what webhooks need of the configuration, and reads the files that it names.
func webhookConfig(c *config.Config) (webhook.Config, error) {
	w := c.Webhooks
	out := webhook.Config{
		MaxConcurrent: w.MaxConcurrent, MaxPerEndpoint: w.MaxPerEndpoint,
		DisableAfter: orNever(w.DisableAfter), RotationOverlap: w.RotationOverlap,
	}
	var err error
	if out.Guard, err = webhookGuard(c); err != nil {
		return out, err
	}
	// Port 0 is known later; it is one of this machine's, and those are refused anyway in production.
	if own, err := netip.ParseAddrPort(c.Server.Listen); err == nil && own.Port() != 0 {
		out.Guard.Own = []netip.AddrPort{own}
	}
	if out.Proxy, err = proxyURL(w); err != nil {
		return out, err
	}
	for i := range w.Endpoints {
		spec, err := declaredWebhook(&w.Endpoints[i])
		if err != nil {
			return out, fmt.Errorf("webhooks.endpoints[%d]: %w", i, err)
		}
		out.Declared = append(out.Declared, spec)
	}
	return out, nil
}

// orNever turns the configuration's 0 into what the webhooks take for never; their 0 is the default.
func orNever(d time.Duration) time.Duration {
	return cmp.Or(d, -1)
}

func prefixes(texts []string) ([]netip.Prefix, error) {
	list := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		p, err := config.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func proxyURL(w config.Webhooks) (*url.URL, error) {
	if w.Proxy == "" {
		return nil, nil
	}
	u, err := url.Parse(w.Proxy)
	if err != nil {
		return nil, core.Invalid("webhooks.proxy", "is not a URL")
	}
	switch {
	case !w.ProxyPassword.IsZero():
		u.User = url.UserPassword(w.ProxyUsername, w.ProxyPassword.Reveal())
	case w.ProxyUsername != "":
		u.User = url.User(w.ProxyUsername)
	}
	return u, nil
}

func declaredWebhook(e *config.Endpoint) (core.WebhookSpec, error) {
	timeout := e.Timeout.Milliseconds()
	spec := core.WebhookSpec{
		URL: e.URL, Secret: e.Secret.Reveal(), Headers: e.Headers.Reveal(), Enabled: &e.Enabled, Retries: &e.Retries, TimeoutMs: &timeout,
		Filters: core.WebhookFilters{Pattern: e.Filters.Pattern, Metadata: e.Filters.Metadata}, Ordered: e.Ordered,
	}
	for _, kind := range e.Events {
		spec.Events = append(spec.Events, core.EventType(kind))
	}
	for _, file := range []struct {
		key, path string
		into      *string
	}{
		{"clientCertFile", e.ClientCertFile, &spec.ClientCert},
		{"clientKeyFile", e.ClientKeyFile, &spec.ClientKey},
		{"caFile", e.CAFile, &spec.CA},
	} {
		if file.path == "" {
			continue
		}
		text, err := readPEM(file.path)
		if err != nil {
			return spec, core.Invalid(file.key, "cannot be read: %v", err)
		}
		*file.into = text
	}
	return spec, nil
}

func readPEM(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPEM {
		return "", fmt.Errorf("%s is no file of at most %d bytes", path, maxPEM)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// behind is how old the oldest event is that was not turned into deliveries yet.
func (a *App) behind(ctx context.Context) time.Duration {
	waiting := a.webhooks.Stats().Behind
	if waiting == 0 {
		return 0
	}
	list, _, err := a.store.Log(ctx, a.store.LastSeq()-waiting, 1)
	if err != nil || len(list) == 0 { // those that wait are not public
		return 0
	}
	return max(0, a.clock.Now().Sub(list[0].Time))
}

// webhookFigures is what metrics show of webhooks.
func (a *App) webhookFigures() metrics.WebhookFigures {
	s := a.webhooks.Stats()
	f := metrics.WebhookFigures{Endpoints: s.Endpoints - s.Disabled, Disabled: s.Disabled, Active: s.Active, Behind: a.behind(context.Background())}
	// A store that does not answer is reported by its own series; the figure is zero meanwhile.
	if list, err := a.store.AllWebhooks(context.Background()); err == nil {
		for _, w := range list {
			waiting := core.DeliveryFilter{WebhookID: w.ID, Status: core.DeliveryPending, Page: core.Page{Limit: 1}}
			if _, info, err := a.store.FindDeliveries(context.Background(), waiting); err == nil {
				f.Pending += int64(info.Total)
			}
		}
	}
	return f
}

// Bounds of what counts as well with webhooks.
const (
	behindLimit = time.Minute
	overdue     = 5 * time.Minute
	lookAt      = 200 // endpoints, by how many a check stays quick
)

// checkWebhooks reports events that are not delivered in time, and of endpoints that were disabled.
func (a *App) checkWebhooks(ctx context.Context) health.Result {
	if late := a.behind(ctx); late > behindLimit {
		return health.Impaired(fmt.Sprintf("events wait for %s to be turned into deliveries", late.Round(time.Second)),
			"look into the log for what keeps the store from writing; nothing is lost")
	}
	list, err := a.store.AllWebhooks(ctx)
	if err != nil {
		return health.Failed("the webhooks cannot be listed", "look into the log")
	}
	disabled, late, looked := 0, 0, 0
	for _, w := range list {
		switch {
		case !w.Enabled && w.DisabledReason != "":
			disabled++
		case w.Enabled && looked < lookAt:
			looked++
			first, err := a.store.DueDeliveries(ctx, w.ID, time.Time{}, "", 1)
			if err == nil && len(first) > 0 && first[0].NextAt != nil && a.clock.Now().Sub(*first[0].NextAt) > overdue {
				late++
			}
		}
	}
	switch {
	case disabled > 0:
		return health.Impaired(fmt.Sprintf("%d webhooks were disabled, as they did nothing but fail", disabled),
			"`wardroom webhook list` shows which; repair the receiver, then `wardroom webhook update ID --enable`")
	case late > 0:
		return health.Impaired(fmt.Sprintf("deliveries to %d webhooks are more than %s late", late, overdue),
			"the receivers are too slow, or webhooks.maxPerEndpoint and webhooks.maxConcurrent too low; `wardroom webhook deliveries ID` tells more")
	}
	return health.OK()
}

// reloadWebhooks takes over another configuration, in which endpoints may come and go.
func (a *App) reloadWebhooks(c *config.Config) error {
	hooks, err := webhookConfig(c)
	if err != nil {
		return err
	}
	return c.Refused(a.webhooks.Reload(a.work, hooks))
}

// webhookGuard decides which targets deliveries may go to.
func webhookGuard(c *config.Config) (*target.Guard, error) {
	transit := c.Security.Encryption.InTransit
	guard := &target.Guard{
		Development: c.Server.Environment == config.Development, AllowPrivate: c.Webhooks.AllowPrivate,
		Encrypted: transit.Enabled, PlainLoopback: transit.AllowLoopback,
	}
	var err error
	if guard.AllowCIDRs, err = prefixes(c.Webhooks.AllowCIDRs); err != nil {
		return nil, core.Invalid("webhooks.allowCidrs", "%v", err)
	}
	if guard.DenyCIDRs, err = prefixes(c.Webhooks.DenyCIDRs); err != nil {
		return nil, core.Invalid("webhooks.denyCidrs", "%v", err)
	}
	if region, hooks := c.Security.Compliance.Residency(), &c.Webhooks; region != "" {
		guard.Elsewhere = func(host string) string {
			if hooks.Resides(host, region) {
				return ""
			}
			return "webhooks.regions does not have it in " + region + ", where security.compliance.gdpr.dataResidency.region keeps data"
		}
	}
	return guard, nil
}

// CheckConfig returns what a start would say against addresses of a configuration, beyond the rules of the file: a VALIDATION_ERROR
// that lists every problem with its place. Addresses of this machine are not asked for, as another one may check its file.
func CheckConfig(c *config.Config) error {
	guard, err := webhookGuard(c)
	if err != nil {
		return err
	}
	var found []core.Problem
	for i := range c.Webhooks.Endpoints {
		if _, err := guard.CheckURL(c.Webhooks.Endpoints[i].URL); err != nil {
			reason, _ := core.AsError(err).Details["reason"].(string)
			found = append(found, core.Problem{Path: fmt.Sprintf("webhooks.endpoints[%d].url", i), Reason: cmp.Or(reason, err.Error())})
		}
	}
	return c.Refused(core.InvalidAll("webhooks.endpoints", found))
}
