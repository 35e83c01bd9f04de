package coretest

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority is a CA that signs certificates for tests.
type Authority struct {
	tb   testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a CA.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{tb: tb, key: newKey(tb)}
	a.cert = a.root()
	return a
}

// PEM returns the CA's own certificate.
func (a *Authority) PEM() []byte { return pemOf("CERTIFICATE", a.cert.Raw) }

// Renewed returns another certificate of the CA, with the same name and key.
func (a *Authority) Renewed() []byte {
	a.tb.Helper()
	return pemOf("CERTIFICATE", a.root().Raw)
}

// root makes a certificate of the CA itself.
func (a *Authority) root() *x509.Certificate {
	a.tb.Helper()
	return a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, a.key, nil)
}

// Pool returns a pool that trusts the CA.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue makes a certificate of a server on this machine or of a client, and its key. Times that the template leaves out
// are those of a certificate that is good now, and uses those of both.
func (a *Authority) Issue(template x509.Certificate) (certPEM, keyPEM []byte) {
	a.tb.Helper()
	key := newKey(a.tb)
	template.DNSNames = append(template.DNSNames, "localhost")
	template.IPAddresses = append(template.IPAddresses, net.IPv4(127, 0, 0, 1))
	if template.ExtKeyUsage == nil {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	c := a.sign(&template, key, a.cert)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.tb.Fatal(err)
	}
	return pemOf("CERTIFICATE", c.Raw), pemOf("PRIVATE KEY", der)
}

// Withdraw makes a list, good until next, of certificates in PEM that are withdrawn.
func (a *Authority) Withdraw(next time.Time, certs ...[]byte) []byte {
	a.tb.Helper()
	return a.withdraw(&x509.RevocationList{NextUpdate: next}, certs)
}

// WithdrawBeside makes a list, good until next, of what is withdrawn beside what an earlier list has (RFC 5280, section 5.2.4).
func (a *Authority) WithdrawBeside(next time.Time, certs ...[]byte) []byte {
	a.tb.Helper()
	delta := pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 27}, Critical: true, Value: []byte{asn1.TagInteger, 1, 1}}
	return a.withdraw(&x509.RevocationList{NextUpdate: next, ExtraExtensions: []pkix.Extension{delta}}, certs)
}

func (a *Authority) withdraw(template *x509.RevocationList, certs [][]byte) []byte {
	a.tb.Helper()
	template.Number, template.ThisUpdate = big.NewInt(2), template.NextUpdate.Add(-30*24*time.Hour)
	for _, text := range certs {
		block, _ := pem.Decode(text)
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			a.tb.Fatal(err)
		}
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: template.ThisUpdate})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, a.cert, a.key)
	if err != nil {
		a.tb.Fatal(err)
	}
	return pemOf("X509 CRL", der)
}

// sign signs a template; issuer nil: by itself.
func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey, issuer *x509.Certificate) *x509.Certificate {
	a.tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		a.tb.Fatal(err)
	}
	template.SerialNumber = serial
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-10 * 365 * 24 * time.Hour) // before the clocks of tests
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(10 * 365 * 24 * time.Hour)
	}
	issuer = cmp.Or(issuer, template)
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), a.key)
	if err != nil {
		a.tb.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		a.tb.Fatal(err)
	}
	return c
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// ConnectionOf returns the state of a connection on which a client showed a certificate, in PEM, of the CA.
func ConnectionOf(tb testing.TB, a *Authority, text []byte) *tls.ConnectionState {
	tb.Helper()
	block, _ := pem.Decode(text)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		tb.Fatal(err)
	}
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}, VerifiedChains: [][]*x509.Certificate{{c, a.cert}}}
}

// Handshake tries a handshake of a server with a client that trusts roots, and returns why the server refused it.
func Handshake(tb testing.TB, server *tls.Config, roots *x509.CertPool, client func(*tls.Config)) error {
	tb.Helper()
	config := &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}
	client(config)
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn := tls.Client(far, config)
		if conn.Handshake() == nil {
			_, _ = conn.Read(make([]byte, 1)) // what the server has to say of our certificate
		}
	}()
	err := tls.Server(near, server).Handshake()
	_, _ = near.Close(), far.Close()
	<-done
	return err
}
