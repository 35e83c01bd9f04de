package cmd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// How long certificates of setup count. The authority is for this machine, and a new one is one more thing to hand out.
const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 397 * 24 * time.Hour // the longest that browsers take
)

// madeCertificate is an authority of this machine and a certificate by it, in PEM.
type madeCertificate struct {
	dir               string
	names             []string
	authority, key    []byte // of the authority
	newAuthority      bool
	certificate, priv []byte
}

func (m *madeCertificate) path(name string) string { return filepath.Join(m.dir, name) }

// makeCertificate makes a certificate for names by the authority in dir, which is made where there is none. It writes nothing.
func makeCertificate(dir string, names []string, now time.Time) (*madeCertificate, error) {
	m := &madeCertificate{dir: dir, names: names}
	for _, name := range names {
		if !validName(name) {
			return nil, &usageError{message: "--tls-generate: " + name + " is no name and no address"}
		}
	}
	ca, caKey, err := m.loadAuthority(now)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := template(now, certificateLife, names[0])
	if err != nil {
		return nil, err
	}
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	m.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	m.priv, err = keyText(key)
	return m, err
}

// validName reports whether a certificate can be for it.
func validName(name string) bool {
	u, err := url.Parse("https://" + name)
	return name != "" && (net.ParseIP(name) != nil || err == nil && u.Hostname() == name)
}

// loadAuthority returns the authority in the directory, or a new one.
func (m *madeCertificate) loadAuthority(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(m.path("ca.crt"))
	if err == nil {
		m.key, err = os.ReadFile(m.path("ca.key"))
		if errors.Is(err, os.ErrNotExist) { // a new authority in its place is one that no client trusts
			return nil, nil, &usageError{
				message: m.path("ca.key") + " is not there, with which " + m.path("ca.crt") + " makes certificates",
				hint:    "put it back, or move the directory aside; clients need the new ca.crt then",
			}
		}
		if err == nil {
			return parseAuthority(m.path("ca.crt"), text, m.key, now)
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, nil, fileError(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, nil, err
	}
	ca, err := template(now, authorityLife, "Wardroom on "+host)
	if err != nil {
		return nil, nil, err
	}
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero, ca.KeyUsage = true, true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	m.newAuthority, m.authority = true, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if m.key, err = keyText(key); err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return made, key, err
}

func parseAuthority(path string, text, keyText []byte, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	cert, key := decodePEM(text), decodePEM(keyText)
	ca, err := x509.ParseCertificate(cert)
	if err != nil || !ca.IsCA {
		return nil, nil, &usageError{message: path + " is no authority that setup made", hint: "move the directory aside"}
	}
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	private, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok || !private.PublicKey.Equal(ca.PublicKey) {
		return nil, nil, &usageError{message: "ca.key beside " + path + " is not its key", hint: "move the directory aside"}
	}
	if now.Add(certificateLife).After(ca.NotAfter) {
		return nil, nil, &usageError{message: path + " ends on " + ca.NotAfter.UTC().Format(time.DateOnly), hint: "move the directory aside; clients need the new ca.crt"}
	}
	return ca, private, nil
}

func decodePEM(text []byte) []byte {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	return block.Bytes
}

func keyText(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// template is a certificate that counts from an hour ago, for clocks that differ.
func template(now time.Time, life time.Duration, name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life),
	}, nil
}

// write puts the files into place, and returns those it made. The key of the authority is for root alone.
func (m *madeCertificate) write(group int) (made []string, err error) {
	if m.newAuthority {
		if err := writeConfig(m.path("ca.key"), m.key, -1); err != nil {
			return made, err
		}
		if err := os.Chmod(m.path("ca.key"), 0o600); err != nil {
			return made, err
		}
		made = append(made, m.path("ca.key"))
		if err := writeConfig(m.path("ca.crt"), m.authority, group); err != nil {
			return made, err
		}
		made = append(made, m.path("ca.crt"))
	}
	if err := writeConfig(m.path("server.key"), m.priv, group); err != nil {
		return made, err // without its key the certificate is of no use: the former pair stays
	}
	if err := writeConfig(m.path("server.crt"), m.certificate, group); err != nil {
		return made, err
	}
	if group >= 0 && os.Geteuid() == 0 {
		err = os.Chown(m.dir, -1, group) // the service looks into it
	}
	return append(made, m.path("server.key"), m.path("server.crt")), err
}
