package cmd

import (
	"os"
	"path/filepath"
	"testing"
	"time"

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

// A backup that was made while the clock was ahead does not show whether there are newer ones.
func TestDoctorOfBackupsOfTheFuture(t *testing.T) {
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		times []time.Time
		want  string
	}{
		{"fresh", []time.Time{now.Add(-time.Hour)}, "ok"},
		{"old", []time.Time{now.Add(-72 * time.Hour)}, "degraded"},
		{"old, and one of the future", []time.Time{now.Add(-72 * time.Hour), now.Add(24 * 365 * time.Hour)}, "degraded"},
		{"one of the future", []time.Time{now.Add(24 * 365 * time.Hour)}, "degraded"},
	} {
		dir := t.TempDir()
		for _, at := range tt.times {
			path := filepath.Join(dir, at.Format("wardroom-20060102T150405Z.backup"))
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		d := &doctor{c: &cli{deps: Deps{Now: func() time.Time { return now }}}}
		if d.backups(dir); len(d.findings) != 1 || d.findings[0].Status != tt.want {
			t.Errorf("%s: %+v", tt.name, d.findings)
		}
	}
}
