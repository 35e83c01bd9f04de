package cert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
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
	next   time.Time // when a newer one is due; zero: never
}

// numberOf names a certificate by its issuer and its serial number.
func numberOf(c *x509.Certificate) string {
	return string(c.RawIssuer) + "\x00" + c.SerialNumber.Text(16)
}

// NumbersOf names the certificate that a connection showed and those that lead from it to the CA, for Withdrawn.
func NumbersOf(state *tls.ConnectionState) []string {
	if state == nil || len(state.VerifiedChains) == 0 {
		return nil
	}
	chain := state.VerifiedChains[0]
	numbers := make([]string, 0, len(chain)-1)
	for _, c := range chain[:len(chain)-1] {
		numbers = append(numbers, numberOf(c))
	}
	return numbers
}

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
	for i, der := range ders {
		crl, err := x509.ParseRevocationList(der)
		if err != nil {
			return nil, fmt.Errorf("%s: list %d is no list of withdrawn certificates (CRL) in PEM or DER", path, i+1)
		}
		signed := false
		for _, ca := range authorities {
			signed = signed || bytes.Equal(ca.RawSubject, crl.RawIssuer) && crl.CheckSignatureFrom(ca) == nil
		}
		switch {
		case !signed:
			return nil, fmt.Errorf("%s: list %d is not signed by a CA of clients", path, i+1)
		case w.lists[string(crl.RawIssuer)] != nil:
			return nil, fmt.Errorf("%s: list %d is the second one of its issuer", path, i+1)
		case !crl.NextUpdate.IsZero() && now.After(crl.NextUpdate):
			return nil, fmt.Errorf("%s: list %d was good until %s: put a newer one there", path, i+1, date(crl.NextUpdate))
		}
		w.lists[string(crl.RawIssuer)] = &list{crl.Issuer.String(), crl.NextUpdate}
		for _, e := range crl.RevokedCertificateEntries {
			w.numbers[string(crl.RawIssuer)+"\x00"+e.SerialNumber.Text(16)] = struct{}{}
		}
	}
	return w, nil
}

// check refuses a connection whose certificate, or one that leads from it to the CA, was withdrawn, or would be told withdrawn by a
// list that is over. One chain without such a certificate is enough.
func (w *withdrawn) check(state *tls.ConnectionState, now time.Time) error {
	if w == nil || state == nil {
		return nil
	}
	var refused error
	for _, chain := range state.VerifiedChains {
		if refused = w.checkChain(chain, now); refused == nil {
			return nil
		}
	}
	return refused
}

func (w *withdrawn) checkChain(chain []*x509.Certificate, now time.Time) error {
	for _, c := range chain[:len(chain)-1] { // the last is what we were told to trust
		if _, gone := w.numbers[numberOf(c)]; gone {
			return fmt.Errorf("the certificate %s of %s was withdrawn", c.SerialNumber.Text(16), c.Issuer)
		}
		if l := w.lists[string(c.RawIssuer)]; l != nil && !l.next.IsZero() && now.After(l.next) {
			return fmt.Errorf("the list of withdrawn certificates of %s was good until %s", l.issuer, date(l.next))
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

// Check refuses the certificate that a connection showed if it was withdrawn since, or the list that would say so is over.
func (s *Source) Check(state *tls.ConnectionState) error {
	return s.loaded.Load().withdrawn.check(state, s.opts.Clock.Now())
}

// Withdrawn reports whether one of the certificates that NumbersOf named was withdrawn.
func (s *Source) Withdrawn(numbers []string) bool {
	w := s.loaded.Load().withdrawn
	if w == nil {
		return false
	}
	for _, n := range numbers {
		if _, gone := w.numbers[n]; gone {
			return true
		}
	}
	return false
}

// ListEnds returns when the list of withdrawn certificates is over whose end comes first, and whose it is; zero: there is none that
// ends.
func (s *Source) ListEnds() (end time.Time, issuer string) { return s.loaded.Load().withdrawn.ends() }
