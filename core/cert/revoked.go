package cert

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"
)

// withdrawn is the lists of withdrawn certificates of one moment. It is immutable.
type withdrawn struct {
	lists   map[string]*list    // by the issuer, as its certificates have it
	numbers map[string]struct{} // numberOf of each certificate
}

// list is what one issuer withdrew.
type list struct {
	issuer string    // for people
	next   time.Time // when a newer one is due, the first of those of several keys; zero: never
}

// numberOf names a certificate by its issuer and its serial number.
func numberOf(c *x509.Certificate) string {
	return string(c.RawIssuer) + "\x00" + c.SerialNumber.Text(16)
}

// caMark is what names of CAs begin with, and those of certificates do not.
const caMark = "ca\x00"

// caOf names a CA by its subject and its key, as another certificate of it has them too.
func caOf(c *x509.Certificate) string {
	sum := sha256.Sum256(slices.Concat(c.RawSubject, c.RawSubjectPublicKeyInfo))
	return caMark + string(sum[:])
}

// nextChain stands between the chains of NumbersOf.
const nextChain = ""

// NumbersOf names, for Withdrawn, the certificate that a connection showed, those that lead from it to the CA, and the CA; and so for
// each chain, of which there are several where a CA is signed by several others.
func NumbersOf(state *tls.ConnectionState) []string {
	if state == nil {
		return nil
	}
	var numbers []string
	for i, chain := range state.VerifiedChains {
		if i > 0 {
			numbers = append(numbers, nextChain)
		}
		last := len(chain) - 1
		for _, c := range chain[:last] {
			numbers = append(numbers, numberOf(c))
		}
		numbers = append(numbers, caOf(chain[last]))
	}
	return numbers
}

// Ends returns when the certificate that a connection showed leads to no CA any more, as it or another of its chain has ended; zero:
// none was shown.
func Ends(state *tls.ConnectionState) (end time.Time) {
	if state == nil {
		return end
	}
	for _, chain := range state.VerifiedChains {
		first := chain[0].NotAfter
		for _, c := range chain {
			if c.NotAfter.Before(first) {
				first = c.NotAfter
			}
		}
		if first.After(end) {
			end = first
		}
	}
	return end
}

// deltaIndicator is the extension of a list that holds only what was withdrawn since another one (RFC 5280, section 5.2.4).
var deltaIndicator = asn1.ObjectIdentifier{2, 5, 29, 27}

// readLists reads lists of withdrawn certificates, in PEM or one in DER. Each has to be signed by one of the CAs, and not to be over:
// a list that cannot be trusted must not stand in for one that withdraws more.
func readLists(path string, text []byte, authorities []*x509.Certificate, now time.Time) (*withdrawn, error) {
	var ders [][]byte
	if block, rest := pem.Decode(text); block == nil {
		ders = [][]byte{text}
	} else {
		for ; block != nil; block, rest = pem.Decode(rest) {
			if block.Type != "X509 CRL" {
				return nil, fmt.Errorf("%s: block %d is no list of withdrawn certificates", path, len(ders)+1)
			}
			ders = append(ders, block.Bytes)
		}
	}
	w := &withdrawn{lists: map[string]*list{}, numbers: map[string]struct{}{}}
	signers := map[string]bool{} // by caOf
	for i, der := range ders {
		crl, err := x509.ParseRevocationList(der)
		if err != nil {
			return nil, fmt.Errorf("%s: list %d is no list of withdrawn certificates (CRL) in PEM or DER", path, i+1)
		}
		if slices.ContainsFunc(crl.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(deltaIndicator) }) {
			return nil, fmt.Errorf("%s: list %d holds only what changed since another (a delta CRL): put the whole list there", path, i+1)
		}
		signer := ""
		for _, ca := range authorities {
			if bytes.Equal(ca.RawSubject, crl.RawIssuer) && crl.CheckSignatureFrom(ca) == nil {
				signer = caOf(ca)
			}
		}
		switch {
		case signer == "":
			return nil, fmt.Errorf("%s: list %d is not signed by a CA of clients", path, i+1)
		case signers[signer]: // one whose key was replaced may have a list of each
			return nil, fmt.Errorf("%s: list %d is the second one of its issuer", path, i+1)
		case !crl.NextUpdate.IsZero() && now.After(crl.NextUpdate):
			return nil, fmt.Errorf("%s: list %d was good until %s: put a newer one there", path, i+1, date(crl.NextUpdate))
		}
		signers[signer] = true
		if l := w.lists[string(crl.RawIssuer)]; l == nil || l.next.IsZero() || !crl.NextUpdate.IsZero() && crl.NextUpdate.Before(l.next) {
			w.lists[string(crl.RawIssuer)] = &list{crl.Issuer.String(), crl.NextUpdate}
		}
		for _, e := range crl.RevokedCertificateEntries {
			w.numbers[string(crl.RawIssuer)+"\x00"+e.SerialNumber.Text(16)] = struct{}{}
		}
	}
	return w, nil
}

// check refuses a connection whose certificate, or one that leads from it to the CA, has ended, was withdrawn, or may have been, as
// the list that would have it is over, or whose CA is none of clients any more. One chain without any of it is enough.
func (l *loaded) check(state *tls.ConnectionState, now time.Time) error {
	if state == nil {
		return nil
	}
	var refused error
	for _, chain := range state.VerifiedChains {
		if refused = l.checkChain(chain, now); refused == nil {
			return nil
		}
	}
	return refused
}

func (l *loaded) checkChain(chain []*x509.Certificate, now time.Time) error {
	last := len(chain) - 1
	if ca := chain[last]; !l.authorities[caOf(ca)] {
		return fmt.Errorf("%s is no CA of clients any more", ca.Subject)
	}
	for _, c := range chain {
		if now.After(c.NotAfter) {
			return fmt.Errorf("the certificate %s of %s ended on %s", c.SerialNumber.Text(16), c.Issuer, date(c.NotAfter))
		}
	}
	if l.withdrawn == nil {
		return nil
	}
	for _, c := range chain[:last] { // the last is the CA
		if _, gone := l.withdrawn.numbers[numberOf(c)]; gone {
			return fmt.Errorf("the certificate %s of %s was withdrawn", c.SerialNumber.Text(16), c.Issuer)
		}
		if list := l.withdrawn.lists[string(c.RawIssuer)]; list != nil && !list.next.IsZero() && now.After(list.next) {
			return fmt.Errorf("the list of withdrawn certificates of %s was good until %s", list.issuer, date(list.next))
		}
	}
	return nil
}

// ends returns when the first list is over, and whose it is; zero: none is ever.
func (w *withdrawn) ends() (end time.Time, issuer string) {
	if w == nil {
		return end, ""
	}
	for _, l := range w.lists {
		if !l.next.IsZero() && (end.IsZero() || l.next.Before(end)) {
			end, issuer = l.next, l.issuer
		}
	}
	return end, issuer
}

// Check refuses the certificate that a connection showed if it has ended or was withdrawn since, the list that would have it is over, or
// its CA was taken out of the file.
func (s *Source) Check(state *tls.ConnectionState) error {
	return s.loaded.Load().check(state, s.opts.Clock.Now())
}

// Withdrawn reports whether of each chain that NumbersOf named a certificate was withdrawn, or the CA taken out of the file.
func (s *Source) Withdrawn(numbers []string) bool {
	l := s.loaded.Load()
	for rest := numbers; len(rest) > 0; {
		chain := rest
		if i := slices.Index(rest, nextChain); i >= 0 {
			chain, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		if !l.lost(chain) {
			return false
		}
	}
	return len(numbers) > 0
}

// lost reports whether a certificate of a chain was withdrawn, or its CA taken out of the file.
func (l *loaded) lost(chain []string) bool {
	return slices.ContainsFunc(chain, func(n string) bool {
		if strings.HasPrefix(n, caMark) {
			return !l.authorities[n]
		}
		if l.withdrawn == nil {
			return false
		}
		_, gone := l.withdrawn.numbers[n]
		return gone
	})
}

// ListEnds returns when the list of withdrawn certificates is over whose end comes first, and whose it is; zero: there is none that
// ends.
func (s *Source) ListEnds() (end time.Time, issuer string) { return s.loaded.Load().withdrawn.ends() }
