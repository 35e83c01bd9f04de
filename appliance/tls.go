package appliance

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/cert"
	"github.com/wardroom/wardroom/core/config"
)

// secure reads the certificates of the listener and wraps it, where the configuration wants TLS.
func (a *App) secure(listener net.Listener) (net.Listener, error) {
	c := a.config.Load().Security.MTLS
	if !c.Enabled {
		return listener, nil
	}
	certificate, key, ca, read, err := a.certificateSecrets(a.config.Load())
	if err != nil {
		return nil, err
	}
	source, err := cert.Open(cert.Options{
		CertFile: certificate, KeyFile: key, CAFile: ca, CRLFile: c.ClientCRL, Secret: read, Auth: cert.Auth(c.ClientAuth),
		Clock: a.clock, Logger: a.log.Named("tls"), Changed: func() { a.keyChanges.Add(1) },
	})
	if err != nil {
		return nil, core.Errorf(core.CodeValidation, "security.mtls: %s", err)
	}
	a.certificates.Store(source)
	if c.ClientCRL != "" {
		a.log.Info("withdrawn certificates of clients are refused", "file", c.ClientCRL)
	}
	a.metrics.Access.WatchCertificate(func() (time.Duration, bool) { return source.Expires().Sub(a.clock.Now()), true })
	return tls.NewListener(listener, source.TLS()), nil
}

// checkCertificates refuses files of certificates that cannot be shown, before anything is made. What a provider of secrets has
// is read once that runs.
func (a *App) checkCertificates(c *config.Config) error {
	m := c.Security.MTLS
	if !m.Enabled || m.ServerCertSecret != "" || m.ClientCASecret != "" {
		return nil
	}
	source, err := cert.Open(cert.Options{
		CertFile: m.ServerCert, KeyFile: m.ServerKey, CAFile: m.ClientCA, CRLFile: m.ClientCRL, Auth: cert.Auth(m.ClientAuth),
		Clock: a.clock, Logger: hclog.NewNullLogger(),
	})
	if err != nil {
		return core.Errorf(core.CodeValidation, "security.mtls: %s", err)
	}
	source.Close()
	return nil
}

// ownCertificateWatch raises alerts when the certificate of the listener ends soon, when it ended, and when its files are
// not taken up.
type ownCertificateWatch struct {
	raise  func(subject string, what core.Alert)
	clock  core.Clock
	source func() *cert.Source // nil: there is no TLS

	ends   time.Time // of the certificate that was reported
	ended  bool      // that it ended was reported
	failed string    // the failure that was reported

	list     time.Time // end of the list of withdrawn certificates that was reported
	listOver bool      // that it is over was reported
}

// lookAtList raises alerts when the list of withdrawn certificates of clients is over soon, and when it is.
func (w *ownCertificateWatch) lookAtList(source *cert.Source) {
	end, issuer := source.ListEnds()
	now := w.clock.Now()
	if end.IsZero() || now.Add(listNear).Before(end) {
		return
	}
	over := !now.Before(end)
	if end.Equal(w.list) && over == w.listOver {
		return
	}
	w.list, w.listOver = end, over
	until := end.UTC().Format(time.RFC3339)
	what := core.Alert{
		Severity: core.SeverityWarning, Message: "The list of withdrawn certificates of " + issuer + " is good until " + until + ": put a newer one there",
		Details: map[string]any{"issuer": issuer, "nextUpdate": until},
	}
	if over {
		what.Severity, what.Message = core.SeverityCritical, "The list of withdrawn certificates of "+issuer+" was good until "+until+": no client with a certificate of it is let in"
	}
	w.raise("server", what)
}

// listNear is how long before its end a list of withdrawn certificates is warned about: they are made anew each day as a rule, or each
// week.
const listNear = 12 * time.Hour

func (w *ownCertificateWatch) look() {
	source := w.source()
	if source == nil {
		return
	}
	if why := source.Failed(); why == nil {
		w.failed = ""
	} else if reason := why.Error(); reason != w.failed {
		w.failed = reason
		w.raise("server", core.Alert{
			Severity: core.SeverityWarning, Message: why.What + " is not in use, and what was before stays: " + reason,
			Details: map[string]any{"reason": reason},
		})
	}
	w.lookAtList(source)
	ends, now := source.Expires(), w.clock.Now()
	if now.Add(certificateNear).Before(ends) {
		return
	}
	ended := !now.Before(ends)
	if ends.Equal(w.ends) && ended == w.ended {
		return
	}
	w.ends, w.ended = ends, ended
	end := ends.UTC().Format(time.RFC3339)
	what := core.Alert{
		Severity: core.SeverityWarning, Message: "The certificate of the server ends on " + end,
		Details: map[string]any{"notAfter": end},
	}
	if ended {
		what.Severity, what.Message = core.SeverityCritical, "The certificate of the server ended on "+end+": clients refuse it"
	}
	w.raise("server", what)
}
