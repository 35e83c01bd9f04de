package config

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Webhooks is everything about callbacks. All of it may change while the process runs.
type Webhooks struct {
	AllowPrivate    bool
	AllowCIDRs      []string // as ParsePrefix takes them
	DenyCIDRs       []string // as ParsePrefix takes them
	Proxy           string   // URL without a user, or empty
	ProxyUsername   string
	ProxyPassword   Secret
	MaxConcurrent   int           // attempts
	MaxPerEndpoint  int           // attempts
	MaxPending      int           // deliveries that wait for one endpoint; 0: any number
	MaxPendingAge   time.Duration // of one of those; 0: for ever
	DisableAfter    time.Duration // 0: never
	RotationOverlap time.Duration
	Retention       WebhookRetention
	Endpoints       []Endpoint
}

// WebhookRetention is how much is kept of deliveries that are over.
type WebhookRetention struct {
	Age            time.Duration
	MaxPerEndpoint int
	MaxBytes       int64 // 0: any size
}

// Endpoint is a webhook that the configuration declares.
type Endpoint struct {
	URL            string
	Events         []string // types, or *
	Secret         Secret
	Headers        Headers
	Enabled        bool
	Retries        int // attempts after the first
	Timeout        time.Duration
	Ordered        bool
	ClientCertFile string // absolute
	ClientKeyFile  string // absolute
	CAFile         string // absolute
	Filters        EndpointFilters
}

// EndpointFilters restrict the events of an endpoint. Empty ones restrict nothing.
type EndpointFilters struct {
	Pattern  []string // names
	Metadata map[string]string
}

// Headers are headers of requests. The values are secret.
type Headers map[string]Secret

// Reveal returns the headers with their values. Callers hand them to what sends them and keep no copy.
func (h Headers) Reveal() map[string]string { return Env(h).Reveal() }

func newEndpoint() Endpoint {
	return Endpoint{Enabled: true, Retries: 3, Timeout: 30 * time.Second}
}

// ParsePrefix reads a range of addresses such as 10.1.0.0/16, or a single address.
func ParsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%q is not a range of addresses such as 10.1.0.0/16 or fd00:1::/32, nor a single one", text)
	}
	if whole := p.Masked(); whole != p {
		return p, fmt.Errorf("%q is an address inside of a range; did you mean %s?", text, whole)
	}
	return p, nil
}

func checkPrefix(text string) error {
	_, err := ParsePrefix(text)
	return err
}

// checkTarget wants the URL of a receiver. Where it may lead is judged when it is dialled.
func checkTarget(text string) error {
	u, err := parseHTTP(text)
	switch {
	case err != nil:
		return err
	case u.Fragment != "":
		return errors.New("must not have a fragment, which is never sent")
	case len(text) > maxTarget:
		return fmt.Errorf("is longer than %d characters", maxTarget)
	}
	return nil
}
