package jwt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/claims"
)

// maxToken bounds a token, in bytes.
const maxToken = 16 << 10

// Leeway is how far the clocks of an issuer and ours may differ.
const Leeway = time.Minute

// What a Verifier may accept, and what it accepts if nothing is said.
var (
	allAlgorithms     = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
	defaultAlgorithms = []string{"RS256", "PS256", "ES256", "EdDSA"}
)

// Known returns those of the algorithms that a provider says it signs by which a Verifier may accept; nil if there are none.
func Known(algorithms []string) []string {
	var known []string
	for _, a := range algorithms {
		if slices.Contains(allAlgorithms, a) {
			known = append(known, a)
		}
	}
	return known
}

// Options are what a Verifier is made of.
type Options struct {
	Issuer      string   // what iss has to be, to the letter
	Audience    string   // what aud has to be or hold
	KeySetURI   string   // where the issuer publishes its keys
	Algorithms  []string // of RS, PS and ES with 256, 384 and 512, and EdDSA; empty: RS256, PS256, ES256, EdDSA
	RolesClaim  string   // a name, or a path with dots; empty: roles
	GroupsClaim string   // the same; empty: groups

	Client *http.Client // fetches the keys; it follows no redirects of its own accord if that is not wanted
	Clock  core.Clock
	Logger hclog.Logger
}

// Identity is whom a verified token speaks for. It is immutable.
type Identity struct {
	Subject string // sub
	Name    string // name, or preferred_username, or the subject: for people
	Groups  []string
	Roles   []string
	Scopes  []string // scope (separated by spaces) or scp (so, or a list)
	Expires time.Time
}

// Verifier verifies tokens of one issuer. It is safe for concurrent use.
type Verifier struct {
	opts       Options
	algorithms []jose.SignatureAlgorithm
	keys       *keySet
	seen       seen
}

// New makes a Verifier. Nothing is fetched before the first token comes.
func New(o Options) (*Verifier, error) {
	if o.Issuer == "" || o.Audience == "" || o.KeySetURI == "" {
		return nil, errors.New("jwt: issuer, audience and the address of the key set are needed")
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = defaultAlgorithms
	}
	o.RolesClaim = cmp.Or(o.RolesClaim, "roles")
	o.GroupsClaim = cmp.Or(o.GroupsClaim, "groups")
	v := &Verifier{opts: o}
	for _, a := range o.Algorithms {
		if !slices.Contains(allAlgorithms, a) {
			return nil, fmt.Errorf("jwt: algorithm %q is not one of %s", a, strings.Join(allAlgorithms, ", "))
		}
		v.algorithms = append(v.algorithms, jose.SignatureAlgorithm(a))
	}
	v.keys = newKeySet(o.KeySetURI, o.Client, o.Clock, o.Logger)
	return v, nil
}

// Close ends a fetch of keys that runs, and waits for it.
func (v *Verifier) Close() { v.keys.close() }

// State returns when the keys of the issuer were fetched last, and why they could not be since; it is for health.
func (v *Verifier) State() (fetched time.Time, failed error) { return v.keys.state() }

// Verify returns whom a token speaks for. Its errors are for the log: they tell which check failed, and hold no part of
// the token; callers of the API hear nothing of them. Errors of Unavailable are about us, not about the token.
func (v *Verifier) Verify(ctx context.Context, token string) (*Identity, error) {
	if len(token) > maxToken {
		return nil, fmt.Errorf("token of more than %d bytes", maxToken)
	}
	sum := sha256.Sum256([]byte(token))
	now := v.opts.Clock.Now()
	if who := v.seen.find(sum, now); who != nil {
		return who, nil
	}
	who, err := v.verify(ctx, token, now)
	if err != nil {
		return nil, err
	}
	v.seen.keep(sum, who, now)
	return who, nil
}

// Unavailable reports whether Verify failed because the keys of the issuer could not be had.
func Unavailable(err error) bool { return errors.Is(err, errKeysAway) }

// VerifyID returns the claims of an ID token (OpenID Connect Core, section 3.1.3.7) of which the audience is the client.
// The nonce is for the caller to compare. Errors are those of Verify.
func (v *Verifier) VerifyID(ctx context.Context, token string) (claims.Claims, error) {
	if len(token) > maxToken {
		return nil, fmt.Errorf("token of more than %d bytes", maxToken)
	}
	head, c, _, err := v.read(token, v.opts.Clock.Now())
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(strings.ToLower(head.Type), "at+jwt") {
		return nil, errors.New("an access token in place of an ID token")
	}
	if _, ok, _ := c.Time("iat"); !ok {
		return nil, errors.New("without the time of its issue")
	}
	party, err := c.Text("azp")
	if err != nil {
		return nil, err
	}
	if list, _ := c["aud"].([]any); party == "" && len(list) > 1 || party != "" && party != v.opts.Audience {
		return nil, errors.New("for another party")
	}
	if err := v.checkSignature(ctx, token, head); err != nil {
		return nil, err
	}
	return c, nil
}

// read takes a token apart and checks all of it but the signature. What costs nothing goes first: tokens of others do not
// make us fetch keys, or compute.
func (v *Verifier) read(token string, now time.Time) (header, claims.Claims, *Identity, error) {
	head, payload, err := split(token)
	if err != nil {
		return head, nil, nil, err
	}
	if !slices.Contains(v.opts.Algorithms, head.Algorithm) {
		return head, nil, nil, errors.New("an algorithm that is not allowed")
	}
	c, err := claims.Parse(payload)
	if err != nil {
		return head, nil, nil, err
	}
	who, err := v.accept(c, now)
	return head, c, who, err
}

func (v *Verifier) verify(ctx context.Context, token string, now time.Time) (*Identity, error) {
	head, _, who, err := v.read(token, now)
	if err != nil {
		return nil, err
	}
	if err := v.checkSignature(ctx, token, head); err != nil {
		return nil, err
	}
	return who, nil
}

// checkSignature checks that a key of the issuer signed a token.
func (v *Verifier) checkSignature(ctx context.Context, token string, head header) error {
	signed, err := jose.ParseSignedCompact(token, v.algorithms)
	if err != nil {
		return errors.New("no signature that can be read")
	}
	for attempt := 0; ; attempt++ {
		keys, fetched, err := v.keys.find(ctx, head.KeyID, head.Algorithm)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if _, err := signed.Verify(key); err == nil {
				return nil
			}
		}
		if attempt > 0 || !v.keys.renew(ctx, fetched) {
			return errors.New("the signature is wrong")
		}
	}
}

// header is what is read of a token's protected header. Addresses and keys in it are not.
type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Type      string `json:"typ"`
	Content   string `json:"cty"`
}

// split cuts a compact token (RFC 7515, section 7.1) into its header and its payload.
func split(token string) (header, []byte, error) {
	var h header
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[2] == "" {
		return h, nil, errors.New("not three parts")
	}
	if strings.ContainsAny(token, "\r\n") { // which decoders of base64 pass over
		return h, nil, errors.New("with line breaks")
	}
	var decoded [2][]byte
	strict := base64.RawURLEncoding.Strict()
	for i := range decoded {
		text, err := strict.DecodeString(parts[i])
		if err != nil {
			return h, nil, errors.New("a part that is not base64url")
		}
		decoded[i] = text
	}
	if _, err := strict.DecodeString(parts[2]); err != nil {
		return h, nil, errors.New("a signature that is not base64url")
	}
	if err := claims.Check(decoded[0]); err != nil {
		return h, nil, fmt.Errorf("header: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(decoded[0], &members); err != nil {
		return h, nil, errors.New("header is no JSON object")
	}
	// An extension that must be understood is not understood here, and payloads are neither detached nor deflated.
	for _, name := range []string{"crit", "b64", "zip", "enc"} {
		if _, ok := members[name]; ok {
			return h, nil, fmt.Errorf("header has %s", name)
		}
	}
	for name, field := range map[string]*string{"alg": &h.Algorithm, "kid": &h.KeyID, "typ": &h.Type, "cty": &h.Content} {
		if raw, ok := members[name]; ok {
			if err := json.Unmarshal(raw, field); err != nil || string(raw) == "null" || !claims.Plain(*field) {
				return h, nil, fmt.Errorf("header: %s is no text of at most %d bytes", name, claims.MaxText)
			}
		}
	}
	switch strings.TrimPrefix(strings.ToLower(h.Type), "application/") {
	case "", "jwt", "at+jwt":
	default: // of another use: a logout token, for one, is no access token
		return h, nil, errors.New("a type that is no access token")
	}
	if h.Content != "" {
		return h, nil, errors.New("a token inside of a token")
	}
	return h, decoded[1], nil
}

// accept checks the claims, and returns whom they speak for.
func (v *Verifier) accept(c claims.Claims, now time.Time) (*Identity, error) {
	if iss, ok := c["iss"].(string); !ok || iss != v.opts.Issuer {
		return nil, errors.New("of another issuer")
	}
	if !c.Has("aud", v.opts.Audience) {
		return nil, errors.New("for another audience")
	}
	expires, ok, err := c.Time("exp")
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errors.New("without a time of expiry")
	case !now.Before(expires.Add(Leeway)):
		return nil, fmt.Errorf("expired %s ago", now.Sub(expires).Round(time.Second))
	}
	for _, name := range []string{"nbf", "iat"} {
		from, ok, err := c.Time(name)
		if err != nil {
			return nil, err
		}
		if ok && from.After(now.Add(Leeway)) {
			return nil, fmt.Errorf("of the future (%s is %s ahead): the clock of this machine, or that of the issuer, is wrong", name, from.Sub(now).Round(time.Second))
		}
	}
	who := &Identity{Expires: expires}
	if who.Subject, err = c.Text("sub"); err != nil {
		return nil, err
	}
	if who.Subject == "" {
		return nil, errors.New("without a subject")
	}
	if !claims.Nameable(who.Subject) { // it would look like another one in lists and logs
		return nil, errors.New("of a subject with spaces around it, or characters that do not show")
	}
	who.Name = who.Subject
	for _, name := range []string{"preferred_username", "name"} {
		if text, err := c.Text(name); err == nil && text != "" {
			who.Name = text
		}
	}
	for _, list := range []struct {
		into  *[]string
		claim string
		split func(string) []string
	}{
		{&who.Groups, v.opts.GroupsClaim, claims.Whole},
		{&who.Roles, v.opts.RolesClaim, claims.Whole},
		{&who.Scopes, "scope", strings.Fields},
	} {
		if *list.into, err = c.Names(list.claim, list.split); err != nil {
			return nil, err
		}
	}
	if _, ok := c["scope"]; !ok {
		if who.Scopes, err = c.Names("scp", strings.Fields); err != nil {
			return nil, err
		}
	}
	return who, nil
}
