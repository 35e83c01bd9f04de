package cert

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// Auth is what is asked of clients.
type Auth string

// What may be asked of clients. A certificate that is sent is checked in all cases but AuthNone.
const (
	AuthRequire Auth = "require" // no connection without a certificate of the CA
	AuthRequest Auth = "request" // a certificate, or another credential
	AuthNone    Auth = "none"    // certificates are not asked for
)

// lookEvery is how often the files are looked at. A file that changed is in use within two of them: one to see that it
// changed, one to see that whoever writes it is done.
const lookEvery = time.Second

// retryEvery is how often files that are refused are read again though they are the same: by the time of day, which may have been
// wrong, they had ended.
const retryEvery = time.Minute

// maxFile bounds a file of certificates, in bytes.
const maxFile = 4 << 20

// Options are what a Source is made of.
type Options struct {
	CertFile string // our certificate and those of its issuers, in PEM
	KeyFile  string
	CAFile   string // the CAs of clients; empty only with AuthNone
	CRLFile  string // certificates of clients that were withdrawn, by the CAs; empty: none was
	Auth     Auth
	// Changed is called when other certificates of clients were withdrawn than before, or their CAs are others; may be nil.
	Changed func()
	// Secret reads one of the four that is a secret and no file, and reports whether it is; nil: all are files. It is called
	// each second and must be quick.
	Secret func(name string) (text []byte, ok bool, err error)

	Clock  core.Clock
	Logger hclog.Logger
}

// Source is the certificates of a listener. It is safe for concurrent use.
type Source struct {
	opts   Options
	stop   context.CancelFunc
	done   sync.WaitGroup
	loaded atomic.Pointer[loaded]

	reloading sync.Mutex // one reload at a time
	failure   atomic.Pointer[Failure]
}

// loaded is the certificates of one moment. It is immutable.
type loaded struct {
	config      *tls.Config
	leaf        *x509.Certificate
	authorities map[string]bool // caOf each CA of clients
	withdrawn   *withdrawn      // nil: there is no list
	sums        sums
}

// Failure is why something new is not in use, as the first thing that is wrong with the files.
type Failure struct {
	What string // that is not in use, as a sentence begins
	err  error
}

func (f *Failure) Error() string { return f.err.Error() }
func (f *Failure) Unwrap() error { return f.err }

// What the four files hold.
const (
	whatPair  = "The new certificate of the server"
	whatCAs   = "The new file of CAs of clients"
	whatLists = "The new list of withdrawn certificates of clients"
)

// whats are what the files hold, in their order.
var whats = [4]string{whatPair, whatPair, whatCAs, whatLists}

// sums are the hashes of the four files.
type sums [4][sha256.Size]byte

// Open reads the files and begins to look for changes of them. Its errors say which file, and why.
func Open(o Options) (*Source, error) {
	s := &Source{opts: o}
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	s.loaded.Store(l)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.done.Go(func() { s.watch(ctx, l.sums) })
	return s, nil
}

// Close ends the look for changes. Connections are left alone.
func (s *Source) Close() {
	s.stop()
	s.done.Wait()
}

// TLS returns the configuration of a listener. Each connection gets the certificates of its moment; a session that was
// begun under other ones is not resumed.
func (s *Source) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return s.loaded.Load().config, nil
		},
	}
}

// Expires returns when our certificate ends.
func (s *Source) Expires() time.Time { return s.loaded.Load().leaf.NotAfter }

// Failed returns why the files as they are now are not in use; nil if they are. Nothing new is in use while one of them is wrong.
func (s *Source) Failed() *Failure { return s.failure.Load() }

// Reload reads the files. If one of them is not right, what was in use before stays in use, and the error says which.
func (s *Source) Reload() error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	l, err := s.read()
	if err != nil {
		var why *Failure
		if !errors.As(err, &why) {
			why = &Failure{whatPair, err}
		}
		if old := s.failure.Swap(why); old == nil || old.Error() != why.Error() {
			s.opts.Logger.Error("certificates not reloaded, the former ones stay in use", "error", err, "expires", date(s.Expires()))
		}
		return err
	}
	s.failure.Store(nil)
	former := s.loaded.Swap(l)
	if former.sums != l.sums {
		s.opts.Logger.Info("certificate reloaded", "expires", date(l.leaf.NotAfter))
	}
	if (former.sums[2] != l.sums[2] || former.sums[3] != l.sums[3]) && s.opts.Changed != nil {
		s.opts.Changed()
	}
	return nil
}

// watch reloads when the files have changed and stand still: certificate and key are two files, and whoever writes them
// writes one after the other.
func (s *Source) watch(ctx context.Context, used sums) {
	last, unread, read := used, 0, s.opts.Clock.Now()
	for pause.For(ctx, s.opts.Clock, lookEvery) {
		present, err := s.hash()
		if err == nil {
			unread = 0
		} else if unread++; unread == 2 { // it is not between two of somebody's steps: say so, and when it is over
			used = sums{}
			_ = s.Reload()
		}
		if err != nil || present != last {
			last = present
			continue
		}
		if now := s.opts.Clock.Now(); present != used || s.Failed() != nil && now.Sub(read) >= retryEvery {
			used, read = present, now
			_ = s.Reload() // it has said why not
		}
	}
}

func (s *Source) files() [4]string {
	return [4]string{s.opts.CertFile, s.opts.KeyFile, s.opts.CAFile, s.opts.CRLFile}
}

// hash hashes the files; one that cannot be read counts as changed.
func (s *Source) hash() (sums, error) {
	texts, err := s.texts()
	if err != nil {
		return sums{}, err
	}
	return texts.sums(), nil
}

// texts are the contents of the four files.
type texts [4][]byte

func (t texts) sums() (s sums) {
	for i, text := range t {
		s[i] = sha256.Sum256(text)
	}
	return s
}

func (s *Source) texts() (t texts, err error) {
	for i, path := range s.files() {
		if path == "" {
			continue
		}
		secret := false
		if s.opts.Secret != nil {
			t[i], secret, err = s.opts.Secret(path)
		}
		if !secret {
			t[i], err = readFile(path)
		}
		if err != nil {
			return t, &Failure{whats[i], err}
		}
	}
	return t, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	if err != nil {
		return nil, err // it names the path
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return text, err
}

// read reads and checks the files.
func (s *Source) read() (*loaded, error) {
	t, err := s.texts()
	if err != nil {
		return nil, err
	}
	pair, err := keyPair(s.opts.CertFile, s.opts.KeyFile, t[0], t[1])
	if err != nil {
		return nil, err
	}
	now := s.opts.Clock.Now()
	if now.After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf("%s: the certificate ended on %s", s.opts.CertFile, date(pair.Leaf.NotAfter))
	}
	if !forServers(pair.Leaf) {
		return nil, fmt.Errorf("%s: the certificate is not for a server: clients would refuse it; put the server's own there", s.opts.CertFile)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{pair},
		NextProtos:   []string{"http/1.1"}, // the limits of connections, sockets and streams are those of HTTP/1.1
	}
	switch s.opts.Auth {
	case AuthRequire:
		config.ClientAuth = tls.RequireAndVerifyClientCert
	case AuthRequest:
		config.ClientAuth = tls.VerifyClientCertIfGiven
	case AuthNone:
		config.ClientAuth = tls.NoClientCert
	default:
		return nil, fmt.Errorf("client authentication %q is not known", s.opts.Auth)
	}
	var authorities []*x509.Certificate
	if s.opts.CAFile != "" {
		if config.ClientCAs, authorities, err = pool(s.opts.CAFile, t[2], now); err != nil {
			return nil, &Failure{whatCAs, err}
		}
	} else if s.opts.Auth != AuthNone {
		return nil, errors.New("certificates of clients cannot be checked without a file of their CAs")
	}
	l := &loaded{config: config, leaf: pair.Leaf, authorities: map[string]bool{}, sums: t.sums()}
	for _, ca := range authorities {
		l.authorities[caOf(ca)] = true
	}
	if s.opts.CRLFile != "" {
		if l.withdrawn, err = readLists(s.opts.CRLFile, t[3], authorities, now); err != nil {
			return nil, &Failure{whatLists, err}
		}
		config.VerifyConnection = func(state tls.ConnectionState) error { // of resumed sessions too
			return l.check(&state, s.opts.Clock.Now())
		}
	}
	return l, nil
}

// keyPair joins a certificate and its key. The texts of package tls are not passed on: they may speak of the key.
func keyPair(certFile, keyFile string, certText, keyText []byte) (tls.Certificate, error) {
	if block, _ := pem.Decode(certText); block == nil {
		return tls.Certificate{}, fmt.Errorf("%s holds no certificate in PEM", certFile)
	}
	if block, _ := pem.Decode(keyText); block == nil {
		return tls.Certificate{}, fmt.Errorf("%s holds no private key in PEM", keyFile)
	}
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil || pair.Leaf == nil {
		return tls.Certificate{}, fmt.Errorf("%s and %s are no pair of a certificate and its private key without a passphrase", certFile, keyFile)
	}
	return pair, nil
}

// forServers reports whether clients take a certificate for one of a server: its uses are those of a server, or not limited.
func forServers(c *x509.Certificate) bool {
	return len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 || slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) ||
		slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny)
}

// pool returns the CAs of a file. One that ended or is no CA is refused: no client could come in by it, and the reason
// would not show.
func pool(path string, text []byte, now time.Time) (p *x509.CertPool, all []*x509.Certificate, err error) {
	p = x509.NewCertPool()
	var n int
	for rest := text; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		switch {
		case block.Type != "CERTIFICATE" || err != nil:
			return nil, nil, fmt.Errorf("%s: block %d is no certificate", path, n+1)
		case !c.IsCA && (c.Version == 3 || c.BasicConstraintsValid):
			return nil, nil, fmt.Errorf("%s: certificate %d is not that of a CA", path, n+1)
		case now.After(c.NotAfter):
			return nil, nil, fmt.Errorf("%s: certificate %d ended on %s", path, n+1, date(c.NotAfter))
		}
		p.AddCert(c)
		all = append(all, c)
	}
	if n == 0 {
		return nil, nil, fmt.Errorf("%s holds no certificate in PEM", path)
	}
	return p, all, nil
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }
