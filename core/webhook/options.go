package webhook

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/webhook/target"
)

// Defaults of Config and of endpoints.
const (
	DefaultMaxConcurrent  = 256
	DefaultMaxPerEndpoint = 10
	DefaultDisableAfter   = 120 * time.Hour
	DefaultRetries        = 3
	DefaultTimeout        = 30 * time.Second
)

// Bounds.
const (
	maxOverlap     = 7 * 24 * time.Hour
	maxTimeout     = 5 * time.Minute
	maxRetries     = 4
	maxRetryAfter  = 24 * time.Hour
	maxSecret      = 1024 // bytes
	maxSecrets     = 5    // that sign at the same time
	maxHeaders     = 32
	maxHeaderBytes = 8 << 10
	maxFilters     = 100
	maxFilterText  = 256
	maxEndpoints   = 10_000

	pageEvents     = 1000 // of the log at a time
	pageRows       = 1000 // deliveries in one transaction of the reader
	maxOutcomes    = 1000 // in one transaction
	minWindow      = 32
	maxWindow      = 256
	allWindows     = 8 << 10 // rows in memory of all endpoints, while minWindow allows
	loaders        = 2
	testsAtOnce    = 16
	startAllowance = 2 // attempts at a time of an endpoint that is not known yet
	minHidden      = 6 // bytes of a credential that is looked for in answers
	minFailures    = 5 // since the start, before an endpoint is disabled

	readBytes  = 16 << 10 // of an answer
	keepBytes  = 4 << 10  // of an answer, in the delivery
	keepError  = 512
	bodyTime   = 2 * time.Second // for the body of an answer behind its headers
	slowAfter  = time.Second     // an attempt that lasts longer makes its endpoint a slow one
	tickEvery  = 10 * time.Second
	clockSlack = 2 * time.Second // by which a clock may go back unnoticed
	firstRetry = 50 * time.Millisecond
	maxRetry   = 5 * time.Second
)

// cursorName is the consumer of the log that we are.
const cursorName = "webhooks"

// Observer receives what metrics count. Methods must be quick and safe for concurrent use.
type Observer interface {
	// AttemptEnded reports one attempt; code is 0 where no answer came.
	AttemptEnded(code int, ok bool, took time.Duration)
	// DeliveryEnded reports that a delivery came to its end.
	DeliveryEnded(status core.DeliveryStatus)
	// EventsFanned reports that events were turned into deliveries; behind is how old the oldest of them was.
	EventsFanned(events, deliveries int, behind time.Duration)
	// EndpointDisabled reports that an endpoint was disabled because of its failures.
	EndpointDisabled()
}

type noObserver struct{}

func (noObserver) AttemptEnded(int, bool, time.Duration) {}
func (noObserver) DeliveryEnded(core.DeliveryStatus)     {}
func (noObserver) EventsFanned(int, int, time.Duration)  {}
func (noObserver) EndpointDisabled()                     {}

// Config is what may change while the service runs. The zero value is ready: public targets only.
type Config struct {
	// Guard says which addresses may be dialled; nil: public ones.
	Guard *target.Guard
	// Proxy is what every request goes through; nil: none.
	Proxy *url.URL
	// MaxConcurrent bounds the attempts under way. 0: 256.
	MaxConcurrent int
	// MaxPerEndpoint bounds those of one endpoint. 0: 10.
	MaxPerEndpoint int
	// DisableAfter is how long an endpoint may do nothing but fail. 0: 120 h; negative: for ever.
	DisableAfter time.Duration
	// RotationOverlap is how long a former secret signs as well when the change of the secret does not say. 0: not at all.
	RotationOverlap time.Duration
	// Declared are the endpoints of the configuration.
	Declared []core.WebhookSpec
}

func (c Config) withDefaults() *Config {
	c.Guard = cmp.Or(c.Guard, &target.Guard{})
	c.MaxConcurrent = cmp.Or(max(0, c.MaxConcurrent), DefaultMaxConcurrent)
	c.MaxPerEndpoint = cmp.Or(max(0, c.MaxPerEndpoint), DefaultMaxPerEndpoint)
	c.DisableAfter = cmp.Or(c.DisableAfter, DefaultDisableAfter)
	return &c
}

// Options are what a Service is made of. Only Store and SealKey are required.
type Options struct {
	Store  core.Store
	Clock  core.Clock
	IDs    core.IDs
	Logger hclog.Logger
	Config Config
	// Secrets resolves what secrets and headers refer to, of endpoints that users made, and DeclaredSecrets those of the
	// configuration; nil: their texts are taken as they are.
	Secrets         core.SecretSource
	DeclaredSecrets core.SecretSource
	// SealKey encrypts secrets and keys of client certificates. It is secret, and the same over restarts.
	SealKey [32]byte
	// Version is that of the product, for User-Agent.
	Version  string
	Observer Observer
	Notice   func(core.Event) // receives a notice when deliveries of an endpoint change, and must not block; may be nil
	Tracer   core.Tracer      // nil: nothing is traced
	// Mask replaces fields of what is delivered that receivers must not read in clear; nil: none.
	Mask core.Masker
	// Transport makes what sends the requests of one endpoint; nil: target.NewTransport with Config's guard and proxy.
	Transport func(c *Config, t target.TLS) (http.RoundTripper, error)
	// Jitter returns a number in [0, 1) for each wait; nil: a random one.
	Jitter func() float64
}

func (o *Options) setDefaults() {
	o.Clock = cmp.Or[core.Clock](o.Clock, core.SystemClock{})
	o.IDs = cmp.Or[core.IDs](o.IDs, core.NewIDs(o.Clock))
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	o.Observer = cmp.Or[Observer](o.Observer, noObserver{})
	if o.Notice == nil {
		o.Notice = func(core.Event) {}
	}
	o.Tracer = cmp.Or[core.Tracer](o.Tracer, core.NoTracer{})
	o.Version = cmp.Or(o.Version, "dev")
	if o.Transport == nil {
		o.Transport = func(c *Config, t target.TLS) (http.RoundTripper, error) {
			return target.NewTransport(c.Guard, target.Options{TLS: t, Proxy: c.Proxy, MaxIdle: c.MaxPerEndpoint})
		}
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
}
