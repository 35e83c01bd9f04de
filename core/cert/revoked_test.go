package cert_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/cert"
	"github.com/wardroom/wardroom/core/coretest"
)

// A certificate that its CA withdrew is refused, from the list's arrival on; a list that is over, or of somebody else, is none.
func TestWithdrawn(t *testing.T) {
	changed := make(chan struct{}, 10)
	r := newRig(t, cert.AuthRequire)
	path := filepath.Join(t.TempDir(), "clients.crl")
	issue := func(name string) (text []byte, as func(*tls.Config)) {
		text, key := r.Issue(x509.Certificate{Subject: pkix.Name{CommonName: name}})
		pair, err := tls.X509KeyPair(text, key)
		if err != nil {
			t.Fatal(err)
		}
		return text, func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} }
	}
	alice, asAlice := issue("alice")
	_, asBob := issue("bob")
	next := r.clock.Now().Add(24 * time.Hour)
	write(t, path, r.Withdraw(next))
	o := r.options(cert.AuthRequire)
	o.CRLFile, o.Changed = path, func() { changed <- struct{}{} }
	source, err := cert.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	chain := func(text []byte) *tls.ConnectionState {
		return coretest.ConnectionOf(t, r.Authority, text)
	}
	if err := source.Check(chain(alice)); err != nil {
		t.Fatal(err)
	}
	numbers := cert.NumbersOf(chain(alice))
	if len(numbers) != 2 || source.Withdrawn(numbers) {
		t.Errorf("%q", numbers)
	}
	if end, issuer := source.ListEnds(); !end.Equal(next.Truncate(time.Second)) || issuer != "CN=CA" {
		t.Errorf("%s %s", end, issuer)
	}

	write(t, path, r.Withdraw(next, alice))
	if err := source.Reload(); err != nil {
		t.Fatal(err)
	}
	<-changed
	if err := source.Check(chain(alice)); err == nil || !source.Withdrawn(numbers) {
		t.Errorf("a withdrawn certificate is good: %v", err)
	}
	handshake := func(as func(*tls.Config)) error { return coretest.Handshake(t, source.TLS(), r.Pool(), as) }
	if handshake(asAlice) == nil {
		t.Error("a withdrawn certificate is let in")
	}
	if err := handshake(asBob); err != nil {
		t.Errorf("another one is not: %v", err)
	}

	// What cannot be trusted leaves the former list in use.
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"of somebody else":  {coretest.NewAuthority(t).Withdraw(next), "not signed by a CA of clients"},
		"over":              {r.Withdraw(r.clock.Now().Add(-time.Hour)), "was good until"},
		"nothing":           {nil, "is no list"},
		"another block":     {alice, "is no list"},
		"only what changed": {r.WithdrawBeside(next), "holds only what changed"},
		"twice":             {append(r.Withdraw(next), r.Withdraw(next)...), "second one of its issuer"},
	} {
		write(t, path, c.text)
		if err := source.Reload(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if why := source.Failed(); source.Check(chain(alice)) == nil || why == nil || why.What != "The new list of withdrawn certificates of clients" {
			t.Errorf("%s: the former list is not in use", name)
		}
	}

	// When the list in use is over, nobody gets in whom it might have.
	r.clock.Advance(25 * time.Hour)
	if handshake(asBob) == nil {
		t.Error("let in by a list that is over")
	}
}

// A CA that is taken out of the file opens nothing any more: Changed is called, and another certificate of the same CA is
// the same CA.
func TestFormerCA(t *testing.T) {
	changed := make(chan struct{}, 10)
	r := newRig(t, cert.AuthRequire)
	former := coretest.NewAuthority(t)
	write(t, r.ca, append(r.PEM(), former.PEM()...))
	o := r.options(cert.AuthRequire)
	o.Changed = func() { changed <- struct{}{} }
	source, err := cert.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	connection := func(a *coretest.Authority) *tls.ConnectionState {
		text, _ := a.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "ann"}})
		return coretest.ConnectionOf(t, a, text)
	}
	good := func(state *tls.ConnectionState) bool {
		one, other := source.Check(state) == nil, !source.Withdrawn(cert.NumbersOf(state))
		if one != other {
			t.Errorf("a request: %t, what was opened: %t", one, other)
		}
		return one
	}
	ours, theirs := connection(r.Authority), connection(former)
	if !good(ours) || !good(theirs) {
		t.Fatal("a certificate is refused")
	}
	write(t, r.ca, r.Renewed())
	if err := source.Reload(); err != nil {
		t.Fatal(err)
	}
	if !good(ours) {
		t.Error("a certificate of the CA that stays is refused")
	}
	if good(theirs) {
		t.Error("a certificate of the CA that went is good")
	}
	select {
	case <-changed:
	default:
		t.Error("no change is reported")
	}
}

// A connection that is kept is no longer good once a certificate of its chain has ended.
func TestEndedOnOpenConnection(t *testing.T) {
	r := newRig(t, cert.AuthRequire)
	ends := r.clock.Now().Add(time.Hour).Truncate(time.Second)
	text, _ := r.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "ann"}, NotAfter: ends})
	state := coretest.ConnectionOf(t, r.Authority, text)
	if got := cert.Ends(state); !got.Equal(ends) || !cert.Ends(nil).IsZero() || !cert.Ends(&tls.ConnectionState{}).IsZero() {
		t.Errorf("it ends at %s, want %s", got, ends)
	}
	for _, good := range []bool{true, false} {
		if err := r.source.Check(state); (err == nil) != good {
			t.Errorf("good %v: %v", good, err)
		}
		r.clock.Advance(2 * time.Hour)
	}
	if err := r.source.Check(&tls.ConnectionState{}); err != nil {
		t.Errorf("a connection without a certificate: %v", err)
	}
}

// A client whose CA is signed by two others stays good for what it opened as long as one of them is in the file.
func TestCrossSigned(t *testing.T) {
	r := newRig(t, cert.AuthRequire)
	other := coretest.NewAuthority(t)
	text, _ := r.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "ann"}})
	state := coretest.ConnectionOf(t, r.Authority, text)
	state.VerifiedChains = append(coretest.ConnectionOf(t, other, text).VerifiedChains, state.VerifiedChains...)
	numbers := cert.NumbersOf(state)
	for name, tt := range map[string]struct {
		cas  []byte
		good bool
	}{
		"both": {append(r.PEM(), other.PEM()...), true}, "one": {r.PEM(), true}, "the other": {other.PEM(), true}, "neither": {coretest.NewAuthority(t).PEM(), false},
	} {
		write(t, r.ca, tt.cas)
		if err := r.source.Reload(); err != nil {
			t.Fatal(err)
		}
		if request, opened := r.source.Check(state) == nil, !r.source.Withdrawn(numbers); request != tt.good || opened != tt.good {
			t.Errorf("%s: a request %v, what was opened %v, want %v", name, request, opened, tt.good)
		}
	}
	if r.source.Withdrawn(nil) {
		t.Error("no certificate was withdrawn")
	}
}

// A CA that got another key keeps its name, and has a list of each key.
func TestListsOfFormerKey(t *testing.T) {
	r := newRig(t, cert.AuthRequire)
	former := coretest.NewAuthority(t) // of the same name
	old, _ := former.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "ann"}})
	fresh, _ := r.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "bob"}})
	good, _ := r.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "eve"}})
	sooner, later := r.clock.Now().Add(24*time.Hour), r.clock.Now().Add(48*time.Hour)
	o := r.options(cert.AuthRequire)
	o.CRLFile = filepath.Join(t.TempDir(), "clients.crl")
	write(t, r.ca, append(r.PEM(), former.PEM()...))
	write(t, o.CRLFile, append(r.Withdraw(later, fresh), former.Withdraw(sooner, old)...))
	source, err := cert.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	if source.Check(coretest.ConnectionOf(t, former, old)) == nil || source.Check(coretest.ConnectionOf(t, r.Authority, fresh)) == nil {
		t.Error("a withdrawn certificate is good")
	}
	if err := source.Check(coretest.ConnectionOf(t, r.Authority, good)); err != nil {
		t.Errorf("another one: %v", err)
	}
	if end, _ := source.ListEnds(); !end.Equal(sooner.Truncate(time.Second)) {
		t.Errorf("the lists end at %s", end)
	}
	write(t, o.CRLFile, append(r.Withdraw(later), append(former.Withdraw(sooner), r.Withdraw(later)...)...))
	if err := source.Reload(); err == nil || !strings.Contains(err.Error(), "second one of its issuer") {
		t.Errorf("two lists of one key: %v", err)
	}
}
