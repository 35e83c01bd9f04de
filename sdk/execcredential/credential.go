package execcredential

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds of the command.
const (
	// DefaultLimit is how long a run may take where Options name no limit.
	DefaultLimit = 20 * time.Second
	outPause     = 2 * time.Second // for what holds the output of the command once that has ended
	maxOutput    = 1 << 20         // bytes that it may write
)

// group is what the versions of an apiVersion stand behind.
const group = "client.authentication.k8s.io/"

var versions = []string{group + "v1", group + "v1beta1"}

// Options are the section exec of a user of a kubeconfig.
type Options struct {
	Command       string
	Args          []string
	Env           []string // NAME=value, besides the environment of the process
	APIVersion    string   // of what the command reads and writes
	InstallHint   string   // for people, where the command is not there
	NeedsTerminal bool     // it cannot do without one: interactiveMode Always
	Cluster       any      // spec.cluster of what it reads; encodes to JSON. nil: none
	// Renewed is called when a run gave another certificate than the one before: connections have the one of their beginning.
	Renewed func()
	Limit   time.Duration // of a run; 0: DefaultLimit
}

// Credential holds the token or the certificate that the command returns. client-go would run the command by itself, for as long as
// that takes, and have all calls wait for it whatever their time is. Make it with New, end it with Close. Safe for concurrent use.
type Credential struct {
	o       Options
	request []byte // what the command reads

	ctx  context.Context // of runs
	stop context.CancelFunc
	wg   sync.WaitGroup // the run

	mu   sync.Mutex // guards what follows
	last *Grant     // nil: none is known
	run  *run
}

// Grant is a credential: a token, a certificate, or both. It is immutable but for refused.
type Grant struct {
	Token     string
	Cert, Key []byte // PEM; empty without a certificate

	pair    *tls.Certificate // of both; nil without them
	until   time.Time        // zero: it does not end
	refused bool             // by the API server; the mutex of the Credential guards it
}

// String keeps the credential out of logs.
func (g *Grant) String() string { return "[credential]" }

func (g *Grant) over() bool { return g.refused || !g.until.IsZero() && time.Now().After(g.until) }

// run is one run of the command; grant and err count once done is closed.
type run struct {
	began time.Time
	done  chan struct{}
	grant *Grant
	err   error
}

// ErrClosed is the error of a Credential that was closed. It is a context.Canceled.
var ErrClosed = fmt.Errorf("the credential is closed: %w", context.Canceled)

// Error is that the command gave no credential, or cannot. Its texts have nothing of what the command wrote.
type Error struct {
	Command string
	Why     string
	Hint    string // what to do about it
}

// Error implements error.
func (e *Error) Error() string {
	return "the command of the kubeconfig that gets the credential, " + e.Command + ", " + e.Why
}

// New returns the credential of a command, which it does not run yet. The error is an *Error about the section of the kubeconfig.
func New(o Options) (*Credential, error) {
	if o.NeedsTerminal {
		return nil, &Error{Command: o.Command, Why: "needs a terminal (interactiveMode Always), and the service has none", Hint: "use the interactiveMode IfAvailable or Never"}
	}
	if !slices.Contains(versions, o.APIVersion) {
		return nil, &Error{Command: o.Command, Why: fmt.Sprintf("has the apiVersion %q, and only %v are known", o.APIVersion, versions), Hint: "give the section exec of the kubeconfig one of these"}
	}
	o.Limit = cmp.Or(max(o.Limit, 0), DefaultLimit)
	spec := map[string]any{"interactive": false}
	if o.Cluster != nil {
		spec["cluster"] = o.Cluster
	}
	request, err := json.Marshal(map[string]any{"kind": kind, "apiVersion": o.APIVersion, "spec": spec})
	if err != nil {
		return nil, err
	}
	c := &Credential{o: o, request: request}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// Close ends a run, and returns when it has ended. Safe to call twice.
func (c *Credential) Close() {
	c.mu.Lock()
	c.stop() // none begins from here on
	c.mu.Unlock()
	c.wg.Wait()
}

// Get returns the credential, from a run of the command where none is known. It waits for that no longer than ctx lasts; the run is for
// all who wait, and goes on. The error is an *Error, ErrClosed, or that of ctx.
func (c *Credential) Get(ctx context.Context) (*Grant, error) {
	c.mu.Lock()
	if c.last != nil && !c.last.over() {
		defer c.mu.Unlock()
		return c.last, nil
	}
	one := c.run
	if one == nil {
		if c.ctx.Err() != nil {
			defer c.mu.Unlock()
			return nil, ErrClosed
		}
		one = &run{began: time.Now(), done: make(chan struct{})}
		c.run = one
		c.wg.Go(func() { c.fetch(one) })
	}
	c.mu.Unlock()
	select {
	case <-one.done:
		return one.grant, one.err
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	return nil, c.hangs(time.Since(one.began))
}

// hangs is the error of a command that has not ended.
func (c *Credential) hangs(since time.Duration) error {
	return c.fails(fmt.Sprintf("has not ended after %s", since.Round(time.Second/10)))
}

func (c *Credential) fails(why string) error {
	return &Error{Command: c.o.Command, Why: why, Hint: "run it as the user of the service, with its environment, and look at what it writes"}
}

// fetch runs the command once, and keeps what it gets.
func (c *Credential) fetch(one *run) {
	one.grant, one.err = c.ask()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run = nil; one.err == nil {
		if c.last != nil && !bytes.Equal(c.last.Cert, one.grant.Cert) && c.o.Renewed != nil {
			c.o.Renewed()
		}
		c.last = one.grant
	}
	close(one.done)
}

// ask runs the command.
func (c *Credential) ask() (*Grant, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.o.Limit)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, c.o.Command, c.o.Args...)
	cmd.Env = append(append(os.Environ(), c.o.Env...), "KUBERNETES_EXEC_INFO="+string(c.request))
	out := new(output)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what it started, too
	cmd.WaitDelay = outPause
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case c.ctx.Err() != nil:
		return nil, ErrClosed
	case ctx.Err() != nil:
		return nil, c.hangs(time.Since(began))
	case out.much:
		return nil, c.fails(fmt.Sprintf("writes more than %d bytes", maxOutput))
	case errors.As(err, &exit) && exit.Exited():
		return nil, c.fails(fmt.Sprintf("fails with exit code %d", exit.ExitCode()))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return nil, c.fails("is not there: " + strings.TrimSpace(err.Error()+" "+c.o.InstallHint))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // something that it left has its output
		return nil, c.fails("cannot be run: " + err.Error())
	}
	g, err := read(out.data, c.o.APIVersion)
	if err != nil {
		return nil, c.fails("writes no credential: " + err.Error())
	}
	return g, nil
}

// kind is that of what the command reads and writes.
const kind = "ExecCredential"

// answer is what the command writes.
type answer struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Status     *struct {
		Token string     `json:"token"`
		Cert  string     `json:"clientCertificateData"`
		Key   string     `json:"clientKeyData"`
		Until *time.Time `json:"expirationTimestamp"`
	} `json:"status"`
}

// read makes a credential of what the command wrote. The errors have none of it.
func read(data []byte, version string) (*Grant, error) {
	var a answer
	switch err := json.Unmarshal(data, &a); {
	case err != nil || a.Kind != kind || a.APIVersion != version:
		return nil, fmt.Errorf("it is no %s of %s in JSON", kind, version)
	case a.Status == nil:
		return nil, errors.New("it has no status")
	}
	g := &Grant{Token: a.Status.Token, Cert: []byte(a.Status.Cert), Key: []byte(a.Status.Key)}
	switch {
	case len(g.Cert) == 0 != (len(g.Key) == 0):
		return nil, errors.New("it has a certificate or a key, and needs both")
	case len(g.Cert) == 0 && g.Token == "":
		return nil, errors.New("it has neither a token nor a certificate")
	case len(g.Cert) > 0:
		pair, err := tls.X509KeyPair(g.Cert, g.Key)
		if err != nil {
			return nil, errors.New("its certificate and key cannot be read, or do not belong together")
		}
		g.pair = &pair
	}
	if a.Status.Until != nil {
		g.until = *a.Status.Until
	}
	return g, nil
}

// Certificate returns the one of the credential that is known, and runs nothing; nil without one.
func (c *Credential) Certificate() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return nil, nil
	}
	return c.last.pair, nil
}

// Transport has each call bear the token of the credential, and wait until there is one. One that the API server knows no more is
// not used again. A client must follow no redirects, as the token would go along.
func (c *Credential) Transport(next http.RoundTripper) http.RoundTripper { return bearer{c, next} }

// bearer is the transport of a Credential.
type bearer struct {
	credential *Credential
	next       http.RoundTripper
}

func (t bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	g, err := t.credential.Get(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	if g.Token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+g.Token)
	}
	answer, err := t.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusUnauthorized {
		t.credential.mu.Lock()
		g.refused = true
		t.credential.mu.Unlock()
	}
	return answer, err
}

// WrappedRoundTripper lets client-go reach the transport below, to cancel requests and to upgrade connections.
func (t bearer) WrappedRoundTripper() http.RoundTripper { return t.next }

// output holds the output of the command, up to maxOutput bytes.
type output struct {
	data []byte
	much bool // there was more
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	if o.much = len(o.data)+len(p) > maxOutput; o.much {
		return 0, io.ErrShortWrite // the command cannot go on
	}
	o.data = append(o.data, p...)
	return len(p), nil
}
