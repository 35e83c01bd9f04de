package config

import (
	"time"

	"github.com/wardroom/wardroom/core"
)

// webhookFields are those of webhooks.
var webhookFields = []*field{
	{
		key: "webhooks.allowPrivate", ref: func(c *Config) any { return &c.Webhooks.AllowPrivate }, live: true,
		doc: "Let targets be in private networks (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7). Addresses of this machine, link-local ones and those of cloud " +
			"metadata stay refused.",
	},
	{
		key: "webhooks.allowCidrs", ref: func(c *Config) any { return &c.Webhooks.AllowCIDRs }, check: checkPrefix, live: true,
		doc: "Further ranges of addresses that targets may be in, such as 10.20.0.0/16.",
	},
	{
		key: "webhooks.denyCidrs", ref: func(c *Config) any { return &c.Webhooks.DenyCIDRs }, check: checkPrefix, live: true,
		doc: "Ranges of addresses that targets may not be in, whatever else allows them.",
	},
	{
		key: "webhooks.proxy", ref: func(c *Config) any { return &c.Webhooks.Proxy }, check: checkBaseURL, clean: cleanURL, live: true,
		doc: "Proxy that every delivery goes through, such as http://proxy.example.com:3128. It decides which targets can be reached then. Empty: none; the environment is " +
			"not asked.",
	},
	{
		key: "webhooks.proxyUsername", ref: func(c *Config) any { return &c.Webhooks.ProxyUsername }, live: true,
		doc: "User at the proxy.",
	},
	{
		key: "webhooks.proxyPassword", ref: func(c *Config) any { return &c.Webhooks.ProxyPassword }, live: true,
		doc: "Password at the proxy, best as a reference to the environment. It is never shown.",
	},
	{
		key: "webhooks.maxConcurrent", ref: func(c *Config) any { return &c.Webhooks.MaxConcurrent }, min: 1, max: 10_000, live: true,
		doc: "Deliveries under way at once.",
	},
	{
		key: "webhooks.maxPerEndpoint", ref: func(c *Config) any { return &c.Webhooks.MaxPerEndpoint }, min: 1, max: 1000, live: true,
		doc: "Deliveries under way at once to one endpoint.",
	},
	{
		key: "webhooks.maxPending", ref: func(c *Config) any { return &c.Webhooks.MaxPending }, max: 100_000_000, live: true,
		doc: "Deliveries that may wait for one endpoint. Beyond that the oldest fail, within the hour; they may be retried. 0: any number.",
	},
	{
		key: "webhooks.maxPendingAge", ref: func(c *Config) any { return &c.Webhooks.MaxPendingAge }, max: tenYears, live: true,
		doc: "How long a delivery may wait before it fails. 0: for ever.",
	},
	{
		key: "webhooks.disableAfter", ref: func(c *Config) any { return &c.Webhooks.DisableAfter }, max: 12 * thirtyDays, live: true,
		doc: "How long an endpoint may do nothing but fail before it is disabled. 0: for ever.",
	},
	{
		key: "webhooks.rotationOverlap", ref: func(c *Config) any { return &c.Webhooks.RotationOverlap }, max: int64(7 * 24 * time.Hour), live: true,
		doc: "How long the former secret of an endpoint signs beside a new one, unless the request says otherwise.",
	},
	{
		key: "webhooks.endpoints", ref: func(c *Config) any { return &c.Webhooks.Endpoints }, live: true,
		doc: "Endpoints that are declared here: a list of {url, events, secret} with, each left out at will, headers, enabled, retries (after the first attempt, 0 to 4), " +
			"timeout, ordered, clientCertFile, clientKeyFile, caFile and filters {pattern, metadata}. The API shows them and does not change them.",
	},

	{
		key: "webhooks.retention.age", ref: func(c *Config) any { return &c.Webhooks.Retention.Age },
		min: int64(time.Hour), max: tenYears, live: true,
		doc: "How long a delivery that is over stays listed. One that waits goes by webhooks.maxPendingAge.",
	},
	{
		key: "webhooks.retention.maxPerEndpoint", ref: func(c *Config) any { return &c.Webhooks.Retention.MaxPerEndpoint },
		min: 100, max: 10_000_000, live: true,
		doc: "Deliveries that are over and listed for one endpoint. Beyond that, the oldest go.",
	},
	{
		key: "webhooks.retention.maxBytes", ref: func(c *Config) any { return &c.Webhooks.Retention.MaxBytes }, live: true,
		doc: "What all deliveries may take, before it is compressed. Beyond that the oldest that are over go. 0: any size.",
	},
}

// Bounds of endpoints, those of core/webhook, which would refuse what is beyond them at the start.
const (
	maxEndpoints   = 1000 // in the configuration
	maxTarget      = 2048 // characters of a URL
	maxSecretBytes = 1024
	maxRetries     = 4
	minTimeout     = 100 * time.Millisecond
	maxTimeout     = 5 * time.Minute
	maxHeaders     = 32
	maxHeaderBytes = 8 << 10
	maxFilters     = 100
	maxFilterText  = 256 // bytes
)

// endpointField is a key of an endpoint in the terms of a field, whose ref it makes for one endpoint.
type endpointField struct {
	field
	of   func(*Endpoint) any
	must bool // shown even when it is empty or zero
}

// endpointFields are the keys of an endpoint, in the order they are shown.
var endpointFields = []*endpointField{
	{
		field: field{key: "url", check: checkTarget, doc: "Where the deliveries go; https, or http as well in the development environment."},
		of:    func(e *Endpoint) any { return &e.URL }, must: true,
	},
	{
		field: field{key: "events", enum: eventWords(), doc: "Types of the events that it gets; * is every one."},
		of:    func(e *Endpoint) any { return &e.Events }, must: true,
	},
	{
		field: field{key: "secret", doc: "What its deliveries are signed with, best as a reference to the environment. It is never shown."},
		of:    func(e *Endpoint) any { return &e.Secret }, must: true,
	},
	{
		field: field{key: "headers", check: checkHeaderName, doc: "Headers that are sent as well. Their values are never shown."},
		of:    func(e *Endpoint) any { return &e.Headers },
	},
	{
		field: field{key: "enabled", doc: "Deliver to it."},
		of:    func(e *Endpoint) any { return &e.Enabled }, must: true,
	},
	{
		field: field{key: "retries", max: maxRetries, doc: "Attempts after the first: after 1 minute, 5 minutes, 30 minutes and 2 hours."},
		of:    func(e *Endpoint) any { return &e.Retries }, must: true,
	},
	{
		field: field{key: "timeout", min: int64(minTimeout), max: int64(maxTimeout), doc: "How long one attempt may take."},
		of:    func(e *Endpoint) any { return &e.Timeout }, must: true,
	},
	{
		field: field{key: "ordered", doc: "Deliver an event of an execution only when the one before it was delivered or given up."},
		of:    func(e *Endpoint) any { return &e.Ordered },
	},
	{
		field: field{key: "clientCertFile", path: true, doc: "PEM file of the certificate that Wardroom shows. It is read at the start and at a reload, as are the next two."},
		of:    func(e *Endpoint) any { return &e.ClientCertFile },
	},
	{
		field: field{key: "clientKeyFile", path: true, doc: "PEM file of its key."},
		of:    func(e *Endpoint) any { return &e.ClientKeyFile },
	},
	{
		field: field{key: "caFile", path: true, doc: "PEM file of the authorities that its certificate is checked with. Left out: those of the system."},
		of:    func(e *Endpoint) any { return &e.CAFile },
	},
	{
		field: field{key: "filters.pattern", check: checkFilter, doc: "Names of patterns; of the events that name a pattern it gets only theirs."},
		of:    func(e *Endpoint) any { return &e.Filters.Pattern },
	},
	{
		field: field{key: "filters.metadata", check: checkFilter, doc: "Metadata that an execution must have for its events to be delivered."},
		of:    func(e *Endpoint) any { return &e.Filters.Metadata },
	},
}

func eventWords() []string {
	words := []string{string(core.AllEvents)}
	for _, kind := range core.PublicEvents {
		words = append(words, string(kind))
	}
	return words
}
