package config

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// Webhooks is everything about callbacks. All of it may change while the process runs.
type Webhooks struct {
	// Let targets be in private networks (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7). Addresses of this
	// machine, link-local ones and those of cloud metadata stay refused.
	AllowPrivate bool `json:"allowPrivate"`
	// Further ranges of addresses that targets may be in, such as 10.20.0.0/16.
	AllowCIDRs []string `json:"allowCidrs" check:"is=cidr"`
	// Ranges of addresses that targets may not be in, whatever else allows them.
	DenyCIDRs []string `json:"denyCidrs" check:"is=cidr"`
	// Proxy that every delivery goes through, such as http://proxy.example.com:3128. It decides which targets can be
	// reached then. Empty: none; the environment is not asked.
	Proxy string `json:"proxy" check:"is=url"`
	// User at the proxy.
	ProxyUsername string `json:"proxyUsername"`
	// Password at the proxy, best as a reference to the environment. It is never shown.
	ProxyPassword Secret `json:"proxyPassword"`
	// Deliveries under way at once.
	MaxConcurrent int `json:"maxConcurrent" default:"256" check:"min=1,max=10000"`
	// Deliveries under way at once to one endpoint.
	MaxPerEndpoint int `json:"maxPerEndpoint" default:"10" check:"min=1,max=1000"`
	// Deliveries that may wait for one endpoint. Beyond that the oldest fail, within the hour; they may be retried. 0:
	// any number.
	MaxPending int `json:"maxPending" default:"1000000" check:"min=0,max=100000000"`
	// How long a delivery may wait before it fails. 0: for ever.
	MaxPendingAge time.Duration `json:"maxPendingAge" default:"168h" check:"min=0s,max=3650d"`
	// How long an endpoint may do nothing but fail before it is disabled. 0: for ever.
	DisableAfter time.Duration `json:"disableAfter" default:"120h" check:"min=0s,max=360d"`
	// How long the former secret of an endpoint signs beside a new one, where the request does not say. 0: one digest,
	// and the former secret ends at once. Receivers that expect exactly one digest refuse two.
	RotationOverlap time.Duration `json:"rotationOverlap" default:"0s" check:"min=0s,max=7d"`
	// Where hosts of receivers are, for security.compliance.gdpr.dataResidency.region: a list of {region, hosts}.
	Regions []WebhookRegion `json:"regions" check:"max=100" each:"One region."`
	// Endpoints that are declared here: a list of {url, events, secret} with, each left out at will, headers, enabled,
	// retries (after the first attempt, 0 to 4), timeout, ordered, clientCertFile, clientKeyFile, caFile and filters
	// {pattern, metadata}. The API shows them and does not change them.
	Endpoints []Endpoint `json:"endpoints" check:"max=1000" each:"One endpoint."`
	// How much is kept of deliveries that are over.
	Retention WebhookRetention `json:"retention"`
}

// WebhookRetention is how much is kept of deliveries that are over.
type WebhookRetention struct {
	// How long a delivery that is over stays listed. One that waits goes by webhooks.maxPendingAge.
	Age time.Duration `json:"age" default:"720h" check:"min=1h,max=3650d"`
	// Deliveries that are over and listed for one endpoint. Beyond that, the oldest go.
	MaxPerEndpoint int `json:"maxPerEndpoint" default:"100000" check:"min=100,max=10000000"`
	// What all deliveries may take, before it is compressed. Beyond that the oldest that are over go. 0: any size.
	MaxBytes int64 `json:"maxBytes" check:"size,min=0"`
}

// Endpoint is a webhook that the configuration declares.
type Endpoint struct {
	// Where the deliveries go; https, or http as well in the development environment.
	URL string `json:"url" check:"is=target" missing:"give the URL of the receiver"`
	// Types of the events that it gets; * is every one.
	Events []string `json:"events" check:"is=event" missing:"list types of events, or \"*\" for all"`
	// What its deliveries are signed with, best as a reference to the environment. It is never shown.
	Secret Secret `json:"secret" missing:"give what deliveries are signed with, such as ${WEBHOOK_SECRET}"`
	// Headers that are sent as well. Their values are never shown.
	Headers Headers `json:"headers,omitempty"`
	// Deliver to it.
	Enabled bool `json:"enabled" default:"true"`
	// Attempts after the first: after 1 minute, 5 minutes, 30 minutes and 2 hours.
	Retries int `json:"retries" default:"3" check:"min=0,max=4"`
	// How long one attempt may take.
	Timeout time.Duration `json:"timeout" default:"30s" check:"min=100ms,max=5m"`
	// Deliver an event of an execution only when the one before it was delivered or given up.
	Ordered bool `json:"ordered,omitempty"`
	// PEM file of the certificate that Wardroom shows. It is read at the start and at a reload, as are the next two.
	ClientCertFile string `json:"clientCertFile,omitempty" check:"path"`
	// PEM file of its key.
	ClientKeyFile string `json:"clientKeyFile,omitempty" check:"path"`
	// PEM file of the authorities that its certificate is checked with. Left out: those of the system.
	CAFile string `json:"caFile,omitempty" check:"path"`
	// Which of these events it gets.
	Filters EndpointFilters `json:"filters,omitempty"`
}

// EndpointFilters restrict the events of an endpoint. Empty ones restrict nothing.
type EndpointFilters struct {
	// Names of patterns; of the events that name a pattern it gets only theirs.
	Pattern []string `json:"pattern,omitempty" check:"is=filter"`
	// Metadata that an execution must have for its events to be delivered.
	Metadata map[string]string `json:"metadata,omitempty" check:"is=filter"`
}

// Headers are headers of requests. The values are secret.
type Headers map[string]Secret

// Bounds of endpoints, those of core/webhook, which would refuse what is beyond them at the start.
const (
	maxTarget      = 2048 // characters of a URL
	maxSecretBytes = 1024
	maxHeaders     = 32
	maxHeaderBytes = 8 << 10
	maxFilters     = 100
	maxFilterText  = 256 // bytes
)

// ReadYAML implements schema.NodeReader.
func (h *Headers) ReadYAML(r *schema.YAML, path string, node *yaml.Node) bool {
	*h = Headers{}
	readSecrets(r, path, node, *h, checkHeader)
	return true
}

// check says what is wrong with a header.
func (h Headers) check() error {
	for name, value := range h {
		if err := checkHeader(name, value.Reveal()); err != nil {
			return err
		}
	}
	return nil
}

// Reveal returns the headers with their values. Callers hand them to what sends them and keep no copy.
func (h Headers) Reveal() map[string]string { return Env(h).Reveal() }

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
	if text == "" {
		return nil // what is missing is reported for the endpoint
	}
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
