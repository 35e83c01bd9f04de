package webhook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/webhook/target"
)

// problems collects what is wrong with an endpoint.
type problems []core.Problem

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, core.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// take adds a VALIDATION_ERROR for a field.
func (p *problems) take(fallback string, err error) {
	var e *core.Error
	if !errors.As(err, &e) {
		p.add(fallback, "%v", err)
		return
	}
	field, ok := e.Details["field"].(string)
	reason, good := e.Details["reason"].(string)
	if !ok || !good {
		field, reason = fallback, e.Message
	}
	p.add(field, "%s", reason)
}

// checkWebhook checks all but the secrets of an endpoint, and brings its URL into its plain form.
func checkWebhook(w *core.Webhook, key string, guard *target.Guard) problems {
	p := checkSettings(w, key)
	if u, err := guard.CheckURL(w.URL); err != nil {
		p.take("url", err)
	} else {
		w.URL = u.String()
	}
	return p
}

// checkSettings checks all but the URL and the secrets.
func checkSettings(w *core.Webhook, key string) problems {
	var p problems
	checkEvents(&p, w.Events)
	checkHeaders(&p, w.Headers)
	if w.Retries < 0 || w.Retries > maxRetries {
		p.add("retries", "must be between 0 and %d, the attempts after the first one", maxRetries)
	}
	if w.TimeoutMs < 1 || w.TimeoutMs > maxTimeout.Milliseconds() {
		p.add("timeout", "must be between 1 and %d milliseconds", maxTimeout.Milliseconds())
	}
	checkFilters(&p, w.Filters)
	if _, err := (target.TLS{Certificate: w.ClientCert, Key: key, CA: w.CA}).Config(); err != nil {
		p.take("clientCertificate", err)
	}
	return p
}

func checkEvents(p *problems, events []core.EventType) {
	if len(events) == 0 {
		p.add("events", "must name at least one event type; \"*\" is all of them")
	}
	for i, t := range events {
		switch {
		case t != core.AllEvents && !slices.Contains(core.PublicEvents, t):
			p.add(fmt.Sprintf("events[%d]", i), "%q is not an event type; they are %s, and * for all", t, eventNames())
		case slices.Contains(events[:i], t):
			p.add(fmt.Sprintf("events[%d]", i), "%q stands in the list twice", t)
		}
	}
}

func eventNames() string {
	names := make([]string, len(core.PublicEvents))
	for i, t := range core.PublicEvents {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

func checkFilters(p *problems, f core.WebhookFilters) {
	if len(f.Pattern) > maxFilters {
		p.add("filters.pattern", "must not have more than %d names", maxFilters)
	}
	for i, name := range f.Pattern {
		if name == "" || len(name) > maxFilterText {
			p.add(fmt.Sprintf("filters.pattern[%d]", i), "must be the name of a pattern, of 1 to %d bytes", maxFilterText)
		}
	}
	if len(f.Metadata) > maxFilters {
		p.add("filters.metadata", "must not have more than %d keys", maxFilters)
	}
	for key, value := range f.Metadata {
		if key == "" || len(key) > maxFilterText || len(value) > maxFilterText {
			p.add("filters.metadata."+clip.Text(key, maxFilterText), "key and value must not be longer than %d bytes, nor the key empty", maxFilterText)
		}
	}
}

// checkSecret checks a secret that somebody chose.
func checkSecret(p *problems, text string) {
	switch {
	case len(text) > maxSecret:
		p.add("secret", "is longer than %d bytes", maxSecret)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		p.add("secret", "must be text without control characters")
	}
}

// newWebhook makes an endpoint of a spec, with the defaults in place.
func newWebhook(spec core.WebhookSpec, now time.Time) core.Webhook {
	w := core.Webhook{
		URL: spec.URL, Events: slices.Clone(spec.Events), Headers: spec.Headers, Enabled: true, Retries: DefaultRetries,
		TimeoutMs: DefaultTimeout.Milliseconds(), Filters: spec.Filters, Ordered: spec.Ordered, ClientCert: spec.ClientCert,
		CA: spec.CA, CreatedAt: now, UpdatedAt: now,
	}
	if spec.Enabled != nil {
		w.Enabled = *spec.Enabled
	}
	if spec.Retries != nil {
		w.Retries = *spec.Retries
	}
	if spec.TimeoutMs != nil {
		w.TimeoutMs = *spec.TimeoutMs
	}
	return w
}
