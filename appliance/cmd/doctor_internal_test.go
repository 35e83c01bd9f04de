package cmd

import (
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

// A certificate that is a secret has no file: doctor finds nothing wrong with that.
func TestDoctorOfACertificateSecret(t *testing.T) {
	c := &config.Config{}
	c.Security.MTLS.Enabled, c.Security.MTLS.ServerCertSecret = true, "vault:secret/data/tls"
	d := &doctor{c: &cli{}, cfg: c}
	d.certificates()
	if len(d.findings) != 1 || d.findings[0].Status != "ok" {
		t.Errorf("%+v", d.findings)
	}
}
