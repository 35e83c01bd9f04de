package keyservice

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core/store/atrest"
)

// Methods to log in at Vault.
const (
	LoginToken      = "token"
	LoginAppRole    = "approle"
	LoginKubernetes = "kubernetes"
)

// Transit is a key of the transit engine of Vault or OpenBao.
type Transit struct {
	Address   string // such as https://vault.example.com:8200
	Namespace string
	CACert    string // file of authorities; empty: those of the system
	Mount     string // of the engine
	Key       string // name of the key
	Login     TransitLogin
	Timeout   time.Duration // of one request; 0: 10 s
}

// TransitLogin is how Vault knows who asks. Credentials are files, read at each login.
type TransitLogin struct {
	Method       string // LoginToken, LoginAppRole or LoginKubernetes
	Mount        string // below auth/; empty: the method's name
	TokenFile    string // of LoginToken
	RoleID       string // of LoginAppRole
	SecretIDFile string // of LoginAppRole, if the role asks for one
	Role         string // of LoginKubernetes
	JWTFile      string // of LoginKubernetes
}

// loginMargin is how long before its end a token is not used any more.
const loginMargin = 10 * time.Second

// transit implements atrest.KeySource.
type transit struct {
	Transit
	call *caller

	mu      sync.Mutex // guards all below; held while somebody logs in
	token   string
	expires time.Time // zero: the server says it does not
}

// NewTransit returns the source. It makes no request.
func NewTransit(t Transit) atrest.KeySource {
	t.Address = strings.TrimSuffix(t.Address, "/")
	return &transit{Transit: t, call: newCaller("Vault at "+t.Address, t.CACert, t.Timeout)}
}

// String implements atrest.KeySource.
func (t *transit) String() string {
	return fmt.Sprintf("key %s/%s of Vault at %s", t.Mount, t.Key, t.Address)
}

// wrappedID is what names a key in atrest.Wrapped: MOUNT/NAME:vVERSION.
var wrappedID = regexp.MustCompile(`^([A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*)/([A-Za-z0-9._-]+):v([0-9]{1,9})$`)

// ciphertext matches the ciphertexts that the engine makes.
var ciphertext = regexp.MustCompile(`^vault:v([0-9]{1,9}):[A-Za-z0-9+/=]+$`)

// Wrap implements atrest.KeySource, by the newest version of the key.
func (t *transit) Wrap(ctx context.Context, key []byte, about string) (atrest.Wrapped, error) {
	var out struct{ Ciphertext string }
	in := map[string]any{"plaintext": key, "associated_data": []byte(about)}
	if err := t.ask(ctx, "encrypt", t.Mount, t.Key, in, &out); err != nil {
		return atrest.Wrapped{}, err
	}
	m := ciphertext.FindStringSubmatch(out.Ciphertext)
	if m == nil {
		return atrest.Wrapped{}, fmt.Errorf("%w: %s answers with something else than a ciphertext: check the address", atrest.ErrKey, t.call.what)
	}
	return atrest.Wrapped{KeyID: fmt.Sprintf("%s/%s:v%s", t.Mount, t.Key, m[1]), Data: []byte(out.Ciphertext)}, nil
}

// Unwrap implements atrest.KeySource, by the key that wrapped: the configuration may name the next one already.
func (t *transit) Unwrap(ctx context.Context, w atrest.Wrapped, about string) ([]byte, error) {
	m := wrappedID.FindStringSubmatch(w.KeyID)
	if m == nil || strings.Contains(w.KeyID, "..") || !ciphertext.Match(w.Data) {
		return nil, fmt.Errorf("%w: it was encrypted by %q, which is no key of Vault: give the provider that it was encrypted with", atrest.ErrKey, clip(w.KeyID))
	}
	var out struct{ Plaintext []byte }
	in := map[string]any{"ciphertext": string(w.Data), "associated_data": []byte(about)}
	if err := t.ask(ctx, "decrypt", m[1], m[2], in, &out); err != nil {
		return nil, err
	}
	return out.Plaintext, nil
}

// clip bounds what a file says in an error.
func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), 200)], "?") }

// ask has the engine do something with a key.
func (t *transit) ask(ctx context.Context, do, mount, key string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	for fresh := false; ; fresh = true {
		token, made, err := t.logIn(ctx, fresh)
		if err != nil {
			return err
		}
		got, err := t.call.do(ctx, http.MethodPost, t.Address+"/v1/"+mount+"/"+do+"/"+key, body, t.as(token))
		if err != nil {
			return err
		}
		if got.status == http.StatusForbidden && !made && !fresh { // the token may have ended before its time
			continue
		}
		if got.status != http.StatusOK {
			return t.refused(got, do, mount, key)
		}
		var whole struct{ Data json.RawMessage }
		if json.Unmarshal(got.body, &whole) != nil || json.Unmarshal(whole.Data, out) != nil {
			return fmt.Errorf("%w: %s answers with something else than Vault does: check the address", atrest.ErrKey, t.call.what)
		}
		return nil
	}
}

// as makes a request one of a token's owner.
func (t *transit) as(token string) func(*http.Request) error {
	return func(r *http.Request) error {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Vault-Request", "true")
		if t.Namespace != "" {
			r.Header.Set("X-Vault-Namespace", t.Namespace)
		}
		if token != "" {
			r.Header.Set("X-Vault-Token", token)
		}
		return nil
	}
}

// logIn returns a token, and whether it was made now.
func (t *transit) logIn(ctx context.Context, fresh bool) (token string, made bool, err error) {
	l := &t.Login
	unread := func(field, path string) error {
		return fmt.Errorf("%w: there is no login at %s: the file of auth.%s, %s, holds nothing that can be read", atrest.ErrKey, t.call.what, field, path)
	}
	if l.Method == LoginToken { // somebody else keeps it
		if token, err = readCredential(l.TokenFile); err != nil {
			return "", false, unread("tokenFile", l.TokenFile)
		}
		return token, true, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !fresh && t.token != "" && (t.expires.IsZero() || time.Now().Before(t.expires)) {
		return t.token, false, nil
	}
	in := map[string]string{}
	switch l.Method {
	case LoginAppRole:
		in["role_id"] = l.RoleID
		if l.SecretIDFile != "" {
			if in["secret_id"], err = readCredential(l.SecretIDFile); err != nil {
				return "", false, unread("secretIdFile", l.SecretIDFile)
			}
		}
	case LoginKubernetes:
		in["role"] = l.Role
		if in["jwt"], err = readCredential(l.JWTFile); err != nil {
			return "", false, unread("jwtFile", l.JWTFile)
		}
	}
	body, err := json.Marshal(in)
	if err != nil {
		return "", false, err
	}
	mount := cmp.Or(l.Mount, l.Method)
	at := time.Now()
	got, err := t.call.do(ctx, http.MethodPost, t.Address+"/v1/auth/"+mount+"/login", body, t.as(""))
	if err != nil {
		return "", false, err
	}
	var out struct {
		Auth struct {
			Token string `json:"client_token"`
			Lease int64  `json:"lease_duration"`
		}
	}
	switch {
	case got.status >= http.StatusInternalServerError:
		return "", false, t.refused(got, "log in", "auth", mount)
	case got.status != http.StatusOK:
		return "", false, fmt.Errorf("%w: %s refuses the login at auth/%s (status %d): check the role, and that its credential is neither used up nor expired",
			atrest.ErrKey, t.call.what, mount, got.status)
	case json.Unmarshal(got.body, &out) != nil || out.Auth.Token == "":
		return "", false, fmt.Errorf("%w: %s answers a login with something else: check the address", atrest.ErrKey, t.call.what)
	}
	t.token, t.expires = out.Auth.Token, time.Time{}
	if out.Auth.Lease > 0 {
		t.expires = at.Add(time.Duration(out.Auth.Lease)*time.Second - loginMargin)
	}
	return t.token, true, nil
}

// refused words an answer that is none of success. Of what the server wrote only what is known of it is repeated.
func (t *transit) refused(got answer, do, mount, key string) error {
	var said struct{ Errors []string }
	_ = json.Unmarshal(got.body, &said)
	text := strings.ToLower(strings.Join(said.Errors, " "))
	has := func(part string) bool { return strings.Contains(text, part) }
	why := fmt.Sprintf("does not %s by the key %s/%s (status %d)", do, mount, key, got.status)
	switch {
	case has("vault is sealed"):
		why = "is sealed: unseal it with `vault operator unseal`"
	case got.status == http.StatusForbidden && has("invalid token"):
		why = "does not know the token, or not any more"
	case got.status == http.StatusForbidden:
		why = fmt.Sprintf("refuses to %s by the key %s/%s: allow `path %q { capabilities = [\"update\"] }` in the policy", do, mount, key, mount+"/"+do+"/"+key)
	case got.status == http.StatusNotFound || has("no handler for route"):
		why = fmt.Sprintf("has no transit engine at %s: `vault secrets enable -path=%s transit`", mount, mount)
	case has("encryption key not found"):
		why = fmt.Sprintf("has no key %s/%s: it was deleted, or is in another namespace", mount, key)
	case has("too old"), has("disallowed by policy"):
		why = fmt.Sprintf("does not use the version of the key %s/%s any more that this was encrypted by: lower its min_decryption_version", mount, key)
	case has("message authentication failed"), has("invalid ciphertext"):
		why = fmt.Sprintf("cannot open this by the key %s/%s: it was encrypted by another key of that name, or changed", mount, key)
	case has("associated_data"), has("associated data"):
		why = fmt.Sprintf("has a key %s/%s of a type without associated data: make one of the type aes256-gcm96", mount, key)
	case got.status == http.StatusTooManyRequests:
		why = "has too many requests (429)"
	case got.status == 472 || got.status == 473 || got.status >= 300 && got.status < 400:
		why = "is a standby: give the address of the active server"
	case got.status >= http.StatusInternalServerError:
		why = fmt.Sprintf("fails with the status %d: look into its log", got.status)
	}
	return fmt.Errorf("%w: %s %s", atrest.ErrKey, t.call.what, why)
}
