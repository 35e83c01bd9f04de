package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/vault/api"
	"golang.org/x/sync/singleflight"

	"github.com/wardroom/wardroom/sdk/secret"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

// store reads a server.
type store struct {
	config    Config
	log       hclog.Logger
	transport *transport
	session   *session
	mounts    *mounts
	leases    *leases
	provider  *source.Provider
	flights   singleflight.Group // readings of a place: a second credential is none that anybody wants
	ctx       context.Context    // ends with close
	cancel    context.CancelFunc

	mu      sync.Mutex // guards closed, and that nothing begins behind it
	closed  bool
	running sync.WaitGroup
}

var _ source.Source = (*store)(nil)

func open(c Config, log hclog.Logger) (*store, error) { return openBy(c, log, time.Now) }

// openBy is open with a clock.
func openBy(c Config, log hclog.Logger, now func() time.Time) (*store, error) {
	s := &store{config: c, log: log, transport: newTransport(c.CACert)}
	var err error
	if s.session, err = newSession(c, s.transport, log, now); err != nil {
		return nil, secret.Errorf(secret.CodeNotConfigured, "the address of Vault cannot be used")
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mounts = &mounts{client: s.session.reader, known: map[string]mount{}, settled: map[string]time.Time{}}
	s.provider = source.New(source.Options{Source: s, Interval: c.poll})
	s.leases = &leases{
		config: c, client: s.session.reader, log: log, now: now, ctx: s.ctx, held: map[string]*lease{},
		changed: s.provider.Changed, watched: s.provider.Watched, refused: s.session.refused,
	}
	s.session.replaced = s.leases.replaced
	s.running.Go(func() { s.session.keep(s.ctx) })
	return s, nil
}

// begin notes that something runs, which close waits for. False: it is too late.
func (s *store) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}

// close gives back what is the provider's own. Who watches a credential learns that it is not valid any more.
func (s *store) close(ctx context.Context) error {
	for _, place := range s.leases.places() {
		s.provider.Changed(place)
	}
	s.provider.Close()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.running.Wait()
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	s.leases.end(ctx, s.config.Auth.Method == methodToken)
	s.session.end(ctx)
	s.transport.http.CloseIdleConnections()
	return nil
}

// versionQuery is what may follow a path.
var versionQuery = regexp.MustCompile(`^version=[1-9][0-9]{0,9}$`)

// Locate implements source.Source. A relative path lies below secretPath. A whole one begins with a slash, or with the
// same mount as secretPath.
func (s *store) Locate(path string) (string, error) {
	path, query, versioned := strings.Cut(path, "?")
	if versioned && !versionQuery.MatchString(query) {
		return "", &secret.Error{Code: secret.CodeInvalidRef, Message: "what follows ? in a path of Vault must be version=N, such as secret/data/db?version=3"}
	}
	if base := s.config.SecretPath; base != "" && !strings.HasPrefix(path, "/") {
		mount, _, _ := strings.Cut(base, "/")
		if first, _, _ := strings.Cut(path, "/"); first != mount {
			path = base + "/" + path
		}
	}
	path = strings.TrimPrefix(path, "/")
	if len(path) > 1024 || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", secret.Errorf(secret.CodeInvalidRef, "a path of Vault has at most 1024 bytes, and no control characters")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return "", &secret.Error{
				Code: secret.CodeInvalidRef, Message: "a path of Vault has no empty parts, and none of . and ..",
				Hint: "write it as secret/data/db#password",
			}
		}
	}
	if strings.HasPrefix(path, "sys/") || strings.HasPrefix(path, "auth/") {
		return "", secret.Errorf(secret.CodeInvalidRef, "paths below sys/ and auth/ of Vault are no secrets")
	}
	if versioned {
		path += "?" + query
	}
	return path, nil
}

// Read implements source.Source.
func (s *store) Read(ctx context.Context, place string) (source.Entry, error) {
	result := s.flights.DoChan(place, func() (any, error) {
		if !s.begin() {
			return nil, secret.Errorf(secret.CodeUnavailable, "the provider is about to end")
		}
		defer s.running.Done()
		ctx, cancel := context.WithTimeout(s.ctx, s.config.timeout+time.Second) // others may wait for it too
		defer cancel()
		return s.read(ctx, place)
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return source.Entry{}, r.Err
		}
		entry, _ := r.Val.(source.Entry)
		return entry, nil
	case <-ctx.Done():
		return source.Entry{}, s.config.fault(ctx, ctx.Err(), "read "+place)
	}
}

// read reads a place, with another token if the present one turns out not to be valid any more.
func (s *store) read(ctx context.Context, place string) (source.Entry, error) {
	for try := 0; ; try++ {
		t, problem := s.session.need(ctx)
		if problem != nil {
			return source.Entry{}, problem
		}
		if entry, ok := s.leases.get(place, t); ok {
			return entry, nil
		}
		entry, err := s.ask(ctx, place, t)
		if err == nil {
			return entry, nil
		}
		if invalidToken(err) && try == 0 {
			s.session.refused(t.generation)
			continue
		}
		e := s.config.fault(ctx, err, "read "+place)
		if e.Code == secret.CodeForbidden && e.Hint == "" {
			path, _, _ := strings.Cut(place, "?")
			e.Hint = `give the role of the provider a policy with: path "` + s.mounts.api(path) + `" { capabilities = ["read"] }`
		}
		return source.Entry{}, e
	}
}

// ask makes the request. An engine that was upgraded or replaced since its mount was looked at refuses it, or has nothing there.
func (s *store) ask(ctx context.Context, place string, t token) (source.Entry, error) {
	path, _, _ := strings.Cut(place, "?")
	began := time.Now()
	m, err := s.mounts.of(ctx, path)
	if err != nil {
		return source.Entry{}, err
	}
	entry, err := s.askAt(ctx, m, place, t)
	lookedBefore := !m.looked.IsZero() && !m.looked.After(began)
	if err == nil || !lookedBefore || !ofMount(err) || s.mounts.settledNow(path) {
		return entry, err
	}
	now, failed := s.mounts.look(ctx, path)
	switch {
	case failed != nil:
		return entry, err
	case now.alike(m):
		s.mounts.settle(path)
		return entry, err
	}
	return s.askAt(ctx, now, place, t)
}

// ofMount reports whether an error may be that of a mount which is another one than it was.
func ofMount(err error) bool {
	return !invalidToken(err) && (refusedFor(err) || secret.AsError(err).Code == secret.CodeNotFound)
}

// askAt is ask for a mount.
func (s *store) askAt(ctx context.Context, m mount, place string, t token) (source.Entry, error) {
	path, query, _ := strings.Cut(place, "?")
	values, _ := url.ParseQuery(query) // Locate has checked it
	at := s.session.now()
	answer, err := s.session.reader.Logical().ReadWithDataWithContext(ctx, m.api(path), values)
	if err != nil {
		return source.Entry{}, err
	}
	if answer == nil || answer.Data == nil {
		return source.Entry{}, missing(place, "there is nothing at "+place)
	}
	if m.versioned() || m.kind == "" && looksVersioned(answer.Data) {
		return versionedEntry(place, answer)
	}
	entry := source.Entry{Fields: fields(answer.Data)}
	switch {
	case answer.LeaseID != "":
		return s.leases.add(place, t, answer, entry, at), nil
	case m.kind != kindKV && m.kind != "":
		// What Vault makes without a lease says itself how long it is good for.
		if ttl, ok := answer.Data["ttl"].(json.Number); ok {
			if n, err := ttl.Int64(); err == nil && n > 0 {
				entry.NotAfter = at.Add(time.Duration(n) * time.Second)
			}
		}
	}
	return entry, nil
}

func missing(place, text string) *secret.Error {
	return &secret.Error{Code: secret.CodeNotFound, Message: "Vault has no such secret: " + text, Hint: "look with `vault read " + place + "`"}
}

// looksVersioned tells an answer of version 2 of the key-value engine, where nothing is known of the mount.
func looksVersioned(data map[string]any) bool {
	metadata, ok := data["metadata"].(map[string]any)
	_, has := data["data"]
	return ok && has && len(data) == 2 && metadata["version"] != nil && metadata["created_time"] != nil
}

// versionedEntry reads an answer of version 2 of the key-value engine.
func versionedEntry(place string, answer *api.Secret) (source.Entry, error) {
	metadata, _ := answer.Data["metadata"].(map[string]any)
	number, _ := metadata["version"].(json.Number)
	data, ok := answer.Data["data"].(map[string]any)
	if !ok {
		if metadata == nil {
			return source.Entry{}, missing(place, "there is nothing at "+place)
		}
		return source.Entry{}, missing(place, "version "+number.String()+" of "+place+" was deleted")
	}
	return source.Entry{Fields: fields(data), Version: number.String()}, nil
}

// fields turns what Vault keeps into bytes: texts as they are, anything else as JSON.
func fields(data map[string]any) map[string][]byte {
	out := make(map[string][]byte, len(data))
	for name, value := range data {
		if text, ok := value.(string); ok {
			out[name] = []byte(text)
			continue
		}
		var buffer bytes.Buffer
		encoder := json.NewEncoder(&buffer)
		encoder.SetEscapeHTML(false)
		if encoder.Encode(value) == nil { // it came as JSON
			out[name] = bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
		}
	}
	return out
}
