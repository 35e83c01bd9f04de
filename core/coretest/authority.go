package coretest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
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
	a.cert = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, a.key, nil)
	return a
}

// PEM returns the CA's own certificate.
func (a *Authority) PEM() []byte { return pemOf("CERTIFICATE", a.cert.Raw) }

// Pool returns a pool that trusts the CA.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue makes a certificate of a server on this machine or of a client, and its key. Times that the template leaves out
// are those of a certificate that is good now.
func (a *Authority) Issue(template x509.Certificate) (certPEM, keyPEM []byte) {
	a.tb.Helper()
	key := newKey(a.tb)
	template.DNSNames = append(template.DNSNames, "localhost")
	template.IPAddresses = append(template.IPAddresses, net.IPv4(127, 0, 0, 1))
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	c := a.sign(&template, key, a.cert)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.tb.Fatal(err)
	}
	return pemOf("CERTIFICATE", c.Raw), pemOf("PRIVATE KEY", der)
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
	if issuer == nil {
		issuer = template
	}
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
