package cert

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name is which part of a client's certificate names the client.
type Name string

// The parts that may name a client.
const (
	NameSubject Name = "subject" // the common name
	NameSAN     Name = "san"     // the first of its alternative names: URI, e-mail address, DNS name
)

// maxName bounds a client's name, in bytes.
const maxName = 256

// Identity is whom a client's certificate speaks for.
type Identity struct {
	Name   string
	Groups []string // organizational units of the subject
}

// IdentityOf returns whom the certificate of a connection speaks for; false if none was checked, or it has no such name
// that may be shown. The chain was checked by the handshake.
func IdentityOf(state *tls.ConnectionState, by Name) (Identity, bool) {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return Identity{}, false
	}
	c := state.PeerCertificates[0]
	name := c.Subject.CommonName
	if by == NameSAN {
		name = alternative(c)
	}
	if !plain(name) {
		return Identity{}, false
	}
	who := Identity{Name: name}
	for _, unit := range c.Subject.OrganizationalUnit {
		if plain(unit) {
			who.Groups = append(who.Groups, unit)
		}
	}
	return who, true
}

func alternative(c *x509.Certificate) string {
	switch {
	case len(c.URIs) > 0:
		return c.URIs[0].String()
	case len(c.EmailAddresses) > 0:
		return c.EmailAddresses[0]
	case len(c.DNSNames) > 0:
		return c.DNSNames[0]
	}
	return ""
}

func plain(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}
