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

	fetching sync.Mutex // held by the one who fetches

	mu      sync.Mutex // guards all below
	known   *metadata
	checks  Verifier // of known
	fetched time.Time
	tried   time.Time
	wait    time.Duration
	backoff pause.Backoff
	failed  error // of the last fetch
}

// errAway says that the provider could not be asked.
var errAway = errors.New("the identity provider cannot be reached")

// describe returns the provider's metadata, and what verifies its tokens.
func (p *provider) describe(ctx context.Context) (*metadata, Verifier, error) {
	known, checks, fresh, _ := p.state()
	if fresh {
		return known, checks, nil
	}
	if known != nil {
		// Somebody else may fetch: what is known is good meanwhile.
		if !p.fetching.TryLock() {
			return known, checks, nil
		}
	} else {
		p.fetching.Lock()
	}
	defer p.fetching.Unlock()
	known, checks, fresh, err := p.state()
	if fresh || !p.due() {
		if known == nil {
			return nil, nil, errors.Join(errAway, err)
		}
		return known, checks, nil
	}
	if err := p.fetch(ctx); err != nil && known == nil {
		return nil, nil, errors.Join(errAway, err)
	}
	known, checks, _, err = p.state()
	if known == nil {
		return nil, nil, errors.Join(errAway, err)
	}
	return known, checks, nil
}

// state returns what is known, if it is not too old to be used, and whether it is fresh.
func (p *provider) state() (known *metadata, checks Verifier, fresh bool, failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := p.clock.Now().Sub(p.fetched)
	if p.known == nil || age >= staleAfter {
		return nil, nil, false, p.failed
	}
	return p.known, p.checks, age < refreshAfter, p.failed
}

// due reports whether the provider may be asked again.
func (p *provider) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tried.IsZero() || p.clock.Now().Sub(p.tried) >= p.wait
}

// fetch asks the provider. The caller holds fetching.
func (p *provider) fetch(ctx context.Context) error {
	now := p.clock.Now()
	// One who leaves must not make it look as if the provider had failed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	known, err := p.ask(ctx)
	var checks Verifier
	p.mu.Lock()
	same := p.known
	p.mu.Unlock()
	if err == nil {
		if same != nil && same.KeySet == known.KeySet && slices.Equal(same.Algorithms, known.Algorithms) {
			checks = p.checks // with the keys that it has
		} else {
			checks, err = p.verifier(known.Issuer, known.KeySet, known.Algorithms)
		}
	}
	p.mu.Lock()
	p.tried, p.failed = now, err
	if err != nil {
		wait := p.backoff.Next()
		p.wait = wait
		p.mu.Unlock()
		p.log.Warn("the identity provider cannot be asked", "issuer", p.issuer, "error", err, "next", wait)
		return err
	}
	former := p.checks
	p.backoff.Reset()
	p.wait, p.known, p.checks, p.fetched = 0, known, checks, now
	p.mu.Unlock()
	if former != nil && former != checks {
		former.Close() // whoever verifies with it begins anew
	}
	return nil
}

// close ends what verifies tokens.
func (p *provider) close() {
	p.fetching.Lock()
	defer p.fetching.Unlock()
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
		if !safeAddress(address) {
			return nil, fmt.Errorf("%s is no https address", name)
		}
	}
	for _, address := range []*string{&m.UserinfoEndpoint, &m.EndSessionEndpoint} {
		if !safeAddress(*address) {
			*address = "" // they are not needed
		}
	}
	if len(m.ChallengeMethods) > 0 && !slices.Contains(m.ChallengeMethods, "S256") {
		return nil, errors.New("the provider knows no PKCE with S256")
	}
	return m, nil
}

// safeAddress reports whether an address is https, or on this machine.
func safeAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && addr.IsLoopback())
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
