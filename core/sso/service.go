package sso

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/oauth2"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/claims"
)

var _ core.SignIn = (*Service)(nil)

// Verifier verifies the ID tokens of a provider.
type Verifier interface {
	// VerifyID returns the claims of an ID token for our client.
	VerifyID(ctx context.Context, token string) (claims.Claims, error)
	// Close ends what it does.
	Close()
}

// Options are what a Service is made of. Kind, Issuer, ClientID, Verifier, Client, Clock and Logger are needed.
type Options struct {
	Kind         string // oidc, okta, azure or google
	Issuer       string // to the letter
	ClientID     string
	ClientSecret string            // or a reference to it; empty: a public client, which PKCE alone protects
	Secrets      core.SecretSource // of what ClientSecret refers to; nil: it is taken as it is
	Scopes       []string          // that are asked for; openid is among them in any case
	HostedDomain string            // of google: only people of this domain are let in; empty: all
	UserClaim    string            // what names a person: sub, or email, which the provider has to have verified
	GroupsClaim  string
	RolesClaim   string

	Key [32]byte // seals attempts
	// Verifier returns what verifies ID tokens for ClientID by a key set; unavailable reports whether an error of it is about
	// the keys, not about the token.
	Verifier    func(issuer, keySet string, algorithms []string) (Verifier, error)
	Unavailable func(err error) bool
	Attempt     func(allowed bool) // called for each answer of a browser; may be nil
	Client      *http.Client       // it follows no redirects
	Clock       core.Clock
	Logger      hclog.Logger
}

// Service signs people in. Make it with New, end it with Close.
type Service struct {
	opts     Options
	provider *provider
	sealer   sealer
	answered answered
}

// New makes a service. It asks the provider nothing yet.
func New(o Options) (*Service, error) {
	seals, err := newSealer(o.Key)
	if err != nil {
		return nil, err
	}
	o.UserClaim = cmp.Or(o.UserClaim, "sub")
	if !slices.Contains(o.Scopes, "openid") {
		o.Scopes = append([]string{"openid"}, o.Scopes...)
	}
	return &Service{opts: o, sealer: seals, provider: newProvider(&o)}, nil
}

// Close ends what asks the provider and what verifies tokens.
func (s *Service) Close() { s.provider.close() }

// Provider implements core.SignIn.
func (s *Service) Provider() string { return s.opts.Kind }

// State returns when the provider was asked last with success, and why it could not be since; it is for health.
func (s *Service) State() (fetched time.Time, failed error) {
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	return s.provider.fetched, s.provider.failed
}

// away says that the provider cannot be asked.
func away(err error) error {
	return core.Unavailable("identity", "the identity provider cannot be reached; try again").WithCause(err)
}

// Begin implements core.SignIn.
func (s *Service) Begin(ctx context.Context, redirectURI, returnTo string) (*core.SignInAttempt, error) {
	m, _, err := s.provider.describe(ctx)
	if err != nil {
		return nil, away(err)
	}
	a := &attempt{
		State: random(), Nonce: random(), Verifier: oauth2.GenerateVerifier(), Issuer: m.Issuer, Redirect: redirectURI,
		Return: LocalPath(returnTo), Ends: s.opts.Clock.Now().Add(core.SignInLife).UTC(),
	}
	kept, err := s.sealer.seal(a)
	if err != nil {
		return nil, err
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("nonce", a.Nonce)}
	if s.opts.HostedDomain != "" {
		options = append(options, oauth2.SetAuthURLParam("hd", s.opts.HostedDomain))
	}
	return &core.SignInAttempt{State: a.State, Location: s.exchanger(m, a.Redirect, s.opts.ClientSecret).AuthCodeURL(a.State, options...), Kept: kept}, nil
}

// exchanger is the client of the provider's endpoints.
func (s *Service) exchanger(m *metadata, redirect, secret string) *oauth2.Config {
	style := oauth2.AuthStyleInHeader // what a provider knows that does not say otherwise
	if secret == "" || len(m.ClientAuthentication) > 0 && !slices.Contains(m.ClientAuthentication, "client_secret_basic") {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: s.opts.ClientID, ClientSecret: secret, RedirectURL: redirect, Scopes: s.opts.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: m.AuthorizationEndpoint, TokenURL: m.TokenEndpoint, AuthStyle: style},
	}
}

// Finish implements core.SignIn. The reason of a failed sign-in is logged; the person is only asked to try again.
func (s *Service) Finish(ctx context.Context, query map[string]string, kept string) (*core.SignedIn, error) {
	who, err := s.finish(ctx, query, kept)
	if s.opts.Attempt != nil {
		s.opts.Attempt(err == nil)
	}
	if err == nil {
		return who, nil
	}
	if own := new(core.Error); errors.As(err, &own) {
		return nil, err
	}
	s.opts.Logger.Info("sign-in refused", "reason", err.Error())
	e := core.Errorf(core.CodeUnauthorized, "the sign-in did not come to its end; begin it anew")
	e.Details = map[string]any{"reason": "signIn"}
	return nil, e.WithCause(err)
}

func (s *Service) finish(ctx context.Context, query map[string]string, kept string) (who *core.SignedIn, err error) {
	now := s.opts.Clock.Now()
	if kept == "" {
		return nil, errors.New("this browser did not begin it, or took longer than 10 minutes")
	}
	a, err := s.sealer.open(kept)
	if err != nil {
		return nil, err
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(a.State), []byte(query["state"])) != 1:
		return nil, errors.New("the answer is to another attempt")
	case !now.Before(a.Ends):
		return nil, errors.New("it took longer than 10 minutes")
	}
	m, checks, err := s.provider.describe(ctx)
	if err != nil {
		return nil, away(err)
	}
	if a.Issuer != m.Issuer || query["iss"] != m.Issuer && (query["iss"] != "" || m.NamesIssuer) {
		return nil, errors.New("the answer is of another issuer")
	}
	if !s.answered.once(a.State, a.Ends, now) {
		return nil, errors.New("it was answered before")
	}
	defer func() {
		if err != nil {
			s.answered.failed(a.State)
		}
	}()
	if word := query["error"]; word != "" {
		if word == "access_denied" {
			return nil, core.Errorf(core.CodeForbidden, "the identity provider did not let you in")
		}
		return nil, fmt.Errorf("the provider says %q", clipped(word))
	}
	if query["code"] == "" {
		return nil, errors.New("the answer has no code")
	}
	return s.exchange(ctx, m, checks, a, query["code"])
}

// exchange gets the tokens for a code and reads who they are of.
func (s *Service) exchange(ctx context.Context, m *metadata, checks Verifier, a *attempt, code string) (*core.SignedIn, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	secret := s.opts.ClientSecret
	if s.opts.Secrets != nil {
		var err error
		if secret, err = s.opts.Secrets.SecretText(ctx, secret); err != nil {
			return nil, away(err)
		}
	}
	token, err := s.exchanger(m, a.Redirect, secret).Exchange(
		context.WithValue(ctx, oauth2.HTTPClient, s.opts.Client), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < http.StatusInternalServerError {
			return nil, fmt.Errorf("the provider refused the code: status %d, %q", refused.Response.StatusCode, clipped(refused.ErrorCode))
		}
		return nil, away(errors.New("the code could not be exchanged"))
	}
	idToken, _ := token.Extra("id_token").(string)
	if idToken == "" {
		return nil, errors.New("the provider gave no ID token")
	}
	c, err := checks.VerifyID(ctx, idToken)
	if err != nil {
		if s.opts.Unavailable != nil && s.opts.Unavailable(err) {
			return nil, away(err)
		}
		return nil, fmt.Errorf("ID token: %w", err)
	}
	nonce, _ := c["nonce"].(string)
	if subtle.ConstantTimeCompare([]byte(nonce), []byte(a.Nonce)) != 1 {
		return nil, errors.New("the ID token is of another attempt")
	}
	if hash, ok := c["at_hash"].(string); ok && !hashes(idToken, token.AccessToken, hash) {
		return nil, errors.New("the access token is not that of the ID token")
	}
	if err := s.complete(ctx, m, c, token.AccessToken); err != nil {
		return nil, err
	}
	who, err := s.read(c)
	if err != nil {
		return nil, err
	}
	who.IDToken, who.ReturnTo = idToken, a.Return
	return who, nil
}

// hashes reports whether at_hash is of an access token (OpenID Connect Core, section 3.1.3.6). Hashes other than SHA-256,
// which go with larger signatures, are not compared: the token came over TLS from the provider itself.
func hashes(idToken, accessToken, hash string) bool {
	part, _, _ := strings.Cut(idToken, ".")
	text, err := base64.RawURLEncoding.DecodeString(part)
	var head struct {
		Algorithm string `json:"alg"`
	}
	if err != nil || json.Unmarshal(text, &head) != nil || !strings.HasSuffix(head.Algorithm, "256") {
		return true
	}
	sum := sha256.Sum256([]byte(accessToken))
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2]) == hash
}

// complete adds what the ID token does not have, from the provider's answer about the user: some put groups there alone. Where it
// lacks nothing but a name to show, it does without an answer.
func (s *Service) complete(ctx context.Context, m *metadata, c claims.Claims, accessToken string) error {
	lacks := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "" && !c.Given(name) })
	}
	needed := lacks(s.opts.UserClaim, s.opts.GroupsClaim, s.opts.RolesClaim)
	if m.UserinfoEndpoint == "" || !needed && !lacks("name") {
		return nil
	}
	more, err := s.about(ctx, m, accessToken)
	switch {
	case err != nil && needed: // what the person may do could hang on it: half of their groups are none
		return err
	case err != nil:
		s.opts.Logger.Debug("a person who signs in has no name to show", "error", err)
		return nil
	case more["sub"] != c["sub"]: // section 5.3.2
		return errors.New("the provider's answer is about somebody else")
	}
	for name, value := range more {
		if _, ok := c[name]; !ok {
			c[name] = value
		}
	}
	return nil
}

// about returns the provider's answer about the user of an access token.
func (s *Service) about(ctx context.Context, m *metadata, accessToken string) (claims.Claims, error) {
	var text []byte
	if err := getJSON(ctx, s.opts.Client, m.UserinfoEndpoint, accessToken, &text); err != nil {
		return nil, away(fmt.Errorf("the provider's answer about the user: %w", err))
	}
	more, err := claims.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the provider's answer about the user: %w", err)
	}
	return more, nil
}

// read returns who the claims are of. FORBIDDEN for those who are not let in.
func (s *Service) read(c claims.Claims) (*core.SignedIn, error) {
	if s.opts.HostedDomain != "" {
		if domain, _ := c["hd"].(string); !strings.EqualFold(domain, s.opts.HostedDomain) {
			return nil, core.Errorf(core.CodeForbidden, "only people of %s are let in", s.opts.HostedDomain)
		}
	}
	who := new(core.SignedIn)
	var err error
	if who.User, err = c.Text(s.opts.UserClaim); err != nil {
		return nil, err
	}
	if who.User == "" {
		return nil, fmt.Errorf("the provider gave no claim %s", s.opts.UserClaim)
	}
	if !claims.Nameable(who.User) { // it would look like another one in lists and logs
		return nil, fmt.Errorf("the claim %s has spaces around it, or characters that do not show", s.opts.UserClaim)
	}
	// Whoever may write any address into their profile could be anybody.
	if s.opts.UserClaim == "email" && c["email_verified"] != true {
		return nil, core.Errorf(core.CodeForbidden, "the identity provider has not verified your e-mail address")
	}
	if core.IsReserved(who.User) {
		return nil, core.Errorf(core.CodeForbidden, "the name of this user is reserved")
	}
	who.Name = who.User
	for _, name := range []string{"email", "preferred_username", "name"} {
		if text, err := c.Text(name); err == nil && text != "" {
			who.Name = text
		}
	}
	if who.Groups, err = s.names(c, s.opts.GroupsClaim); err == nil {
		who.Roles, err = s.names(c, s.opts.RolesClaim)
	}
	return who, err
}

func (s *Service) names(c claims.Claims, name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	return c.Names(name, claims.Whole)
}

// End implements core.SignIn.
func (s *Service) End(ctx context.Context, idToken, returnURI string) string {
	m, _, err := s.provider.describe(ctx)
	if err != nil || m.EndSessionEndpoint == "" {
		return ""
	}
	u, err := url.Parse(m.EndSessionEndpoint)
	if err != nil {
		return ""
	}
	query := u.Query()
	query.Set("client_id", s.opts.ClientID)
	if idToken != "" {
		query.Set("id_token_hint", idToken)
	}
	if returnURI != "" {
		query.Set("post_logout_redirect_uri", returnURI)
	}
	u.RawQuery = query.Encode()
	return u.String()
}
