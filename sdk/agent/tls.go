package agent

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLSFiles are files in PEM for Options.TLS.
type TLSFiles struct {
	// Cert and Key are the certificate that the agent shows, and its private key; both or neither. They are read anew for
	// each connection, so that a renewed certificate needs no restart.
	Cert, Key string
	// CA has the authorities that the server's certificate must be from. Empty: the system's.
	CA string
}

// Config reads the files. It returns nil where none is named.
func (f TLSFiles) Config() (*tls.Config, error) {
	if f == (TLSFiles{}) {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return nil, fmt.Errorf("a certificate and its key belong together: name both")
	case f.Cert != "":
		if _, err := tls.LoadX509KeyPair(f.Cert, f.Key); err != nil {
			return nil, fmt.Errorf("the certificate of the agent: %w", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
			return &pair, err
		}
	}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("the authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("the authorities: %s holds no certificate in PEM", f.CA)
		}
	}
	return config, nil
}
