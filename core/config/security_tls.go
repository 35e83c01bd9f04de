package config

// MTLS is the TLS of the listener, and the certificates of clients.
type MTLS struct {
	// Serve HTTPS with the certificate below, and not HTTP. TLS 1.2 and later.
	Enabled bool `json:"enabled"`
	// File with the certificate of the server and those of its issuers, in PEM. This file and the two below are looked at
	// each second: a new pair is in use within seconds, one that is broken is reported and the former stays in use.
	ServerCert string `json:"serverCert" check:"path"`
	// File with the private key of serverCert, in PEM without a passphrase.
	ServerKey string `json:"serverKey" check:"path"`
	// File with the certificates of the CAs that sign those of clients, in PEM.
	ClientCA string `json:"clientCA" check:"path"`
	// File with the lists (CRL) of the certificates of clients that their CAs withdrew, in PEM, or one in DER. It is looked at
	// each second too, and what a client has open ends with its certificate. A list that is over lets nobody in whom its CA
	// signed. Empty: none was withdrawn.
	ClientCRL string `json:"clientCRL" check:"path"`
	// Secret that holds serverCert and serverKey, in place of the files: a name at security.secrets.provider or a reference
	// without a key, such as kubernetes:wardroom-tls. Its keys are tls.crt and tls.key. New values are in use within seconds
	// of being known.
	ServerCertSecret string `json:"serverCertSecret"`
	// Secret that holds clientCA, in place of the file. Its key is ca.crt, unless the reference has one.
	ClientCASecret string `json:"clientCASecret"`
	// What clients show: require refuses connections without a certificate of clientCA, request takes one beside other
	// credentials, none asks for none.
	ClientAuth string `json:"clientAuth" default:"require" enum:"require,request,none"`
	// What in the certificate of a client names it: subject is the common name, san the first of its URIs, e-mail addresses
	// and DNS names. Organizational units of the subject are its groups.
	Identity string `json:"identity" default:"subject" enum:"subject,san"`
	// Scopes of a client that shows a certificate and no other credential; what it may do within them is what roles say.
	// Empty: a certificate alone is no credential.
	Scopes []string `json:"scopes" check:"is=scope"`
}

// mtls reports what contradicts itself in the section.
func (r *ruling) mtls(s *MTLS) {
	const at = "security.mtls"
	if !s.Enabled {
		return
	}
	for _, twice := range []struct{ file, secret, name, other string }{
		{s.ServerCert, s.ServerCertSecret, "serverCert", "serverCertSecret"}, {s.ServerKey, s.ServerCertSecret, "serverKey", "serverCertSecret"},
		{s.ClientCA, s.ClientCASecret, "clientCA", "clientCASecret"},
	} {
		if twice.file != "" && twice.secret != "" {
			r.refuse(at, twice.name, "is given beside %s: remove one of them, as only one can be used", twice.other)
		}
	}
	if s.ServerCert == "" && s.ServerCertSecret == "" {
		r.refuse(at, "serverCert", "is missing: name the file with the certificate of the server, or give serverCertSecret")
	}
	if s.ServerKey == "" && s.ServerCertSecret == "" {
		r.refuse(at, "serverKey", "is missing: name the file with the private key of the certificate")
	}
	if len(s.Scopes) > 0 && s.ClientAuth == "none" {
		r.refuse(at, "scopes", "are given, but clientAuth none asks for no certificate")
	}
	if s.ClientCRL != "" && s.ClientAuth == "none" {
		r.refuse(at, "clientCRL", "is given, but clientAuth none asks for no certificate")
	}
	if s.ClientCA == "" && s.ClientCASecret == "" && s.ClientAuth != "none" {
		r.refuse(at, "clientCA", "is missing: name the file with the CAs of clients, or set clientAuth to none")
	}
}
