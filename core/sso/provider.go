package sso

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// Times and bounds of what is asked of a provider.
const (
	refreshAfter = time.Hour
	staleAfter   = 24 * time.Hour
	retryFirst   = time.Second
	retryMost    = time.Minute
	askTimeout   = 10 * time.Second
	maxAnswer    = 1 << 20
)

// metadata is what is read of a provider's (OpenID Connect Discovery, section 3).
type metadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	UserinfoEndpoint      string   `json:"userinfo_endpoint"`
	EndSessionEndpoint    string   `json:"end_session_endpoint"`
	KeySet                string   `json:"jwks_uri"`
	Algorithms            []string `json:"id_token_signing_alg_values_supported"`
	ClientAuthentication  []string `json:"token_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	NamesIssuer           bool     `json:"authorization_response_iss_parameter_supported"`
}

// provider is an identity provider as it describes itself. It is safe for concurrent use.
type provider struct {
	issuer   string
	client   *http.Client
	clock    core.Clock
	log      hclog.Logger
	verifier func(issuer, keySet string, algorithms []string) (Verifier, error)

	root context.Context // ends what asks when the provider is closed
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex // guards all below
	known   *metadata
	checks  Verifier // of known
	fetched time.Time
	tried   time.Time // when the last fetch was over; zero: never
	wait    time.Duration
	backoff pause.Backoff
	asking  chan struct{} // closed when the fetch that runs is over; nil: none runs
	failed  error         // of the last fetch
}

func newProvider(o *Options) *provider {
	root, stop := context.WithCancel(context.Background())
	return &provider{
		issuer: o.Issuer, client: o.Client, clock: o.Clock, log: o.Logger, verifier: o.Verifier, root: root, stop: stop,
		backoff: pause.Backoff{First: retryFirst, Most: retryMost},
	}
}

// errAway says that the provider could not be asked.
var errAway = errors.New("the identity provider cannot be reached")

// describe returns the provider's metadata, and what verifies its tokens. It waits for the fetch that runs only where nothing is
// known that could be used meanwhile.
func (p *provider) describe(ctx context.Context) (*metadata, Verifier, error) {
	p.mu.Lock()
	known, checks, fresh := p.usable()
	var over chan struct{}
	if !fresh {
		over = p.fetch()
	}
	failed := p.failed
	p.mu.Unlock()
	switch {
	case known != nil:
		return known, checks, nil
	case over == nil:
		return nil, nil, errors.Join(errAway, failed)
	}
	select {
	case <-over:
	case <-ctx.Done():
		return nil, nil, errors.Join(errAway, ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, checks, _ = p.usable(); known == nil {
		return nil, nil, errors.Join(errAway, p.failed)
	}
	return known, checks, nil
}

// usable returns what is known, if it is not too old to be used, and whether it is fresh. The caller holds mu.
func (p *provider) usable() (known *metadata, checks Verifier, fresh bool) {
	age := p.clock.Now().Sub(p.fetched)
	if p.known == nil || age >= staleAfter {
		return nil, nil, false
	}
	return p.known, p.checks, age < refreshAfter
}

// fetch begins to ask the provider, unless that runs or failed a moment ago; it returns what is closed when the fetch is over, nil
// if none runs. One who leaves does not end it for the others. The caller holds mu.
func (p *provider) fetch() chan struct{} {
	if p.asking != nil {
		return p.asking
	}
	if p.root.Err() != nil || !p.tried.IsZero() && p.clock.Now().Sub(p.tried) < p.wait {
		return nil
	}
	over := make(chan struct{})
	p.asking = over
	p.done.Go(func() {
		p.refresh()
		close(over)
	})
	return over
}

// refresh asks the provider, and keeps what it answers.
func (p *provider) refresh() {
	ctx, cancel := context.WithTimeout(p.root, askTimeout)
	defer cancel()
	known, checks, err := p.learn(ctx)
	p.mu.Lock()
	former := p.checks
	p.asking, p.tried, p.failed = nil, p.clock.Now(), err
	if err != nil {
		wait := p.backoff.Next()
		p.wait = wait
		p.mu.Unlock()
		if p.root.Err() == nil {
			p.log.Warn("the identity provider cannot be asked", "issuer", p.issuer, "error", err, "next", wait)
		}
		return
	}
	p.backoff.Reset()
	p.wait, p.known, p.checks, p.fetched = 0, known, checks, p.tried
	p.mu.Unlock()
	if former != nil && former != checks {
		former.Close() // whoever verifies with it begins anew
	}
}

// learn asks the provider, and returns what verifies its tokens. A panic at what it answers is an error of that answer.
func (p *provider) learn(ctx context.Context) (known *metadata, checks Verifier, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("reading the answer of the identity provider panicked", "issuer", p.issuer, "panic", r, "stack", string(debug.Stack()))
			err = errors.New("its answer cannot be read")
		}
	}()
	if known, err = p.ask(ctx); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	same, checks := p.known, p.checks // only refresh changes them, and close once that is over
	p.mu.Unlock()
	if same == nil || same.KeySet != known.KeySet || !slices.Equal(same.Algorithms, known.Algorithms) {
		checks, err = p.verifier(known.Issuer, known.KeySet, known.Algorithms) // else it goes on with the keys that it has
	}
	return known, checks, err
}

// close ends a fetch that runs, waits for it, and ends what verifies tokens.
func (p *provider) close() {
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
	p.done.Wait()
	p.mu.Lock()
	checks := p.checks
	p.known, p.checks = nil, nil
	p.mu.Unlock()
	if checks != nil {
		checks.Close()
	}
}

// ask gets the metadata and checks it.
func (p *provider) ask(ctx context.Context) (*metadata, error) {
	m := new(metadata)
	if err := getJSON(ctx, p.client, strings.TrimSuffix(p.issuer, "/")+"/.well-known/openid-configuration", "", m); err != nil {
		return nil, err
	}
	if m.Issuer != p.issuer { // section 4.3: to the letter, else one provider could pose as another
		return nil, fmt.Errorf("the issuer calls itself %q", clipped(m.Issuer))
	}
	for name, address := range map[string]string{
		"authorization_endpoint": m.AuthorizationEndpoint, "token_endpoint": m.TokenEndpoint, "jwks_uri": m.KeySet,
	} {
		if !p.mayCall(address) {
			return nil, fmt.Errorf("%s is no https address", name)
		}
	}
	for _, address := range []*string{&m.UserinfoEndpoint, &m.EndSessionEndpoint} {
		if !p.mayCall(*address) {
			*address = "" // they are not needed
		}
	}
	if len(m.ChallengeMethods) > 0 && !slices.Contains(m.ChallengeMethods, "S256") {
		return nil, errors.New("the provider knows no PKCE with S256")
	}
	return m, nil
}

// mayCall reports whether an address that the provider names is https, or on this machine as the provider itself: one elsewhere must
// not have us call what listens here.
func (p *provider) mayCall(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && onLoopback(u) && strings.HasPrefix(p.issuer, "http:")
}

func onLoopback(u *url.URL) bool {
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && addr.IsLoopback()
}

// getJSON reads an answer of bounded size.
func getJSON(ctx context.Context, client *http.Client, address, bearer string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxAnswer:
		return fmt.Errorf("more than %d bytes", maxAnswer)
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = text
		return nil
	}
	return json.Unmarshal(text, into)
}

func clipped(text string) string { return text[:min(len(text), 100)] }
