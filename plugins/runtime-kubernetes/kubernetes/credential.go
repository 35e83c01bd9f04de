package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/pkg/apis/clientauthentication"
	"k8s.io/client-go/pkg/apis/clientauthentication/install"
	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	clientauthenticationv1beta1 "k8s.io/client-go/pkg/apis/clientauthentication/v1beta1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/connrotation"
)

// Bounds of the command that gets a credential.
const (
	credentialTime  = 20 * time.Second // less than callTime, so that a call reports it
	credentialPause = 2 * time.Second  // for what holds the output of the command once that has ended
	maxCredential   = 1 << 20          // bytes that it may write
)

// credential holds the token or the certificate that the command of a kubeconfig returns for the cluster. client-go would run the command by itself, for as long as that
// takes, and have all calls wait for it whatever their time is. Safe for concurrent use.
type credential struct {
	config  *clientcmdapi.ExecConfig
	version apischema.GroupVersion // of what the command reads and writes
	request []byte                 // what the command reads
	limit   time.Duration          // of a run

	connections *connrotation.ConnectionTracker // have the last certificate

	ctx  context.Context // of runs
	stop context.CancelFunc
	wg   sync.WaitGroup // the run

	mu   sync.Mutex // guards what follows
	last *grant     // nil: none is known
	run  *credentialRun
}

// grant is a credential: a token, a certificate, or both.
type grant struct {
	token     string
	cert, key []byte           // PEM
	pair      *tls.Certificate // of both; nil without them
	until     time.Time        // zero: it does not end
	refused   bool             // by the API server; the mutex of the credential guards it
}

func (g *grant) over() bool { return g.refused || !g.until.IsZero() && time.Now().After(g.until) }

// credentialRun is one run of the command; grant and err count once done is closed.
type credentialRun struct {
	began time.Time
	done  chan struct{}
	grant *grant
	err   error
}

// credentialError is that the command gave no credential.
type credentialError struct{ command, why, hint string }

func (e *credentialError) Error() string {
	return "the command of the kubeconfig that gets the credential, " + e.command + ", " + e.why
}

// What is exchanged with the command.
var (
	credentialCodecs = func() serializer.CodecFactory {
		scheme := apiruntime.NewScheme()
		install.Install(scheme)
		return serializer.NewCodecFactory(scheme)
	}()
	credentialVersions = []apischema.GroupVersion{clientauthenticationv1.SchemeGroupVersion, clientauthenticationv1beta1.SchemeGroupVersion}
)

// takeCredential takes the command out of a configuration, where one gets its credential, and returns the transport that has it. Nil
// without one.
func takeCredential(config *rest.Config) (*credential, http.RoundTripper, error) {
	command := config.ExecProvider
	config.ExecProvider = nil
	over, err := config.TransportConfig()
	if err != nil || command == nil || over.HasTokenAuth() || over.HasBasicAuth() || over.HasCertAuth() { // these count for more
		return nil, nil, err
	}
	c := &credential{config: command, limit: credentialTime, connections: connrotation.NewConnectionTracker()}
	if command.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode {
		return nil, nil, fmt.Errorf("the command %s needs a terminal (interactiveMode Always), and the service has none: use IfAvailable or Never", command.Command)
	}
	c.version, err = apischema.ParseGroupVersion(command.APIVersion)
	if err != nil || !slices.Contains(credentialVersions, c.version) {
		return nil, nil, fmt.Errorf("the command %s has the apiVersion %q, and only %v are known", command.Command, command.APIVersion, credentialVersions)
	}
	var request clientauthentication.ExecCredential
	if command.ProvideClusterInfo {
		whole := rest.CopyConfig(config)
		whole.ExecProvider = command
		if request.Spec.Cluster, err = rest.ConfigToExecCluster(whole); err != nil {
			return nil, nil, err
		}
	}
	if c.request, err = apiruntime.Encode(credentialCodecs.LegacyCodec(c.version), &request); err != nil {
		return nil, nil, err
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withCredential{c, next} })
	if over, err = config.TransportConfig(); err != nil {
		return nil, nil, err
	}
	over.TLS.GetCertHolder = &transport.GetCertHolder{GetCert: c.certificate}
	dialer := &net.Dialer{Timeout: callTime, KeepAlive: callTime}
	over.DialHolder = &transport.DialHolder{Dial: connrotation.NewDialerWithTracker(dialer.DialContext, c.connections).DialContext}
	next, err := transport.New(over)
	if err != nil {
		return nil, nil, err
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c, next, nil
}

// close ends a run, and returns when it has ended.
func (c *credential) close() {
	c.mu.Lock()
	c.stop() // none begins from here on
	c.mu.Unlock()
	c.wg.Wait()
}

// get returns the credential, from a run of the command where none is known. It waits for that no longer than ctx lasts; the run is for
// all who wait, and goes on. *credentialError.
func (c *credential) get(ctx context.Context) (*grant, error) {
	c.mu.Lock()
	if c.last != nil && !c.last.over() {
		defer c.mu.Unlock()
		return c.last, nil
	}
	run := c.run
	if run == nil {
		if c.ctx.Err() != nil {
			defer c.mu.Unlock()
			return nil, c.ctx.Err()
		}
		run = &credentialRun{began: time.Now(), done: make(chan struct{})}
		c.run = run
		c.wg.Go(func() { c.fetch(run) })
	}
	c.mu.Unlock()
	select {
	case <-run.done:
		return run.grant, run.err
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	return nil, c.hangs(time.Since(run.began))
}

// hangs is the error of a command that has not ended.
func (c *credential) hangs(since time.Duration) error {
	return c.fails(fmt.Sprintf("has not ended after %s", since.Round(time.Second/10)))
}

func (c *credential) fails(why string) error {
	return &credentialError{command: c.config.Command, why: why, hint: "run it as the user of the service, with its environment, and look at what it writes"}
}

// fetch runs the command once, and keeps what it gets.
func (c *credential) fetch(run *credentialRun) {
	run.grant, run.err = c.ask()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run = nil; run.err == nil {
		if c.last != nil && !bytes.Equal(c.last.cert, run.grant.cert) { // connections have the one of their beginning
			c.connections.CloseAll()
		}
		c.last = run.grant
	}
	close(run.done)
}

// ask runs the command. *credentialError.
func (c *credential) ask() (*grant, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.limit)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, c.config.Command, c.config.Args...)
	cmd.Env = os.Environ()
	for _, one := range c.config.Env {
		cmd.Env = append(cmd.Env, one.Name+"="+one.Value)
	}
	cmd.Env = append(cmd.Env, "KUBERNETES_EXEC_INFO="+string(c.request))
	out := new(credentialOutput)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what it started, too
	cmd.WaitDelay = credentialPause
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case c.ctx.Err() != nil:
		return nil, c.ctx.Err()
	case ctx.Err() != nil:
		return nil, c.hangs(time.Since(began))
	case out.much:
		return nil, c.fails(fmt.Sprintf("writes more than %d bytes", maxCredential))
	case errors.As(err, &exit) && exit.Exited():
		return nil, c.fails(fmt.Sprintf("fails with exit code %d", exit.ExitCode()))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return nil, c.fails("is not there: " + strings.TrimSpace(err.Error()+" "+c.config.InstallHint))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // something that it left has its output
		return nil, c.fails("cannot be run: " + err.Error())
	}
	g, err := c.read(out.data)
	if err != nil {
		return nil, c.fails("writes no credential: " + err.Error())
	}
	return g, nil
}

// read makes a credential of what the command wrote. The errors have none of it.
func (c *credential) read(data []byte) (*grant, error) {
	var answer clientauthentication.ExecCredential
	_, kind, err := credentialCodecs.UniversalDecoder(c.version).Decode(data, nil, &answer)
	switch {
	case err != nil || kind.GroupVersion() != c.version:
		return nil, fmt.Errorf("it is no ExecCredential of %s", c.version)
	case answer.Status == nil:
		return nil, errors.New("it has no status")
	}
	s := answer.Status
	g := &grant{token: s.Token, cert: []byte(s.ClientCertificateData), key: []byte(s.ClientKeyData)}
	switch {
	case len(g.cert) == 0 != (len(g.key) == 0):
		return nil, errors.New("it has a certificate or a key, and needs both")
	case len(g.cert) == 0 && g.token == "":
		return nil, errors.New("it has neither a token nor a certificate")
	case len(g.cert) > 0:
		pair, err := tls.X509KeyPair(g.cert, g.key)
		if err != nil {
			return nil, errors.New("its certificate and key cannot be read, or do not belong together")
		}
		g.pair = &pair
	}
	if s.ExpirationTimestamp != nil {
		g.until = s.ExpirationTimestamp.Time
	}
	return g, nil
}

// refused notes that the API server knows a credential no more: the next call gets another one.
func (c *credential) refused(g *grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g.refused = true
}

// certificate returns the one of the credential that is known; nil without one.
func (c *credential) certificate() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return nil, nil
	}
	return c.last.pair, nil
}

// withCredential has each call bear the token of a credential, and wait until there is one.
type withCredential struct {
	credential *credential
	next       http.RoundTripper
}

func (t withCredential) RoundTrip(r *http.Request) (*http.Response, error) {
	g, err := t.credential.get(r.Context())
	if err != nil {
		return nil, err
	}
	if g.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+g.token)
	}
	answer, err := t.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusUnauthorized {
		t.credential.refused(g)
	}
	return answer, err
}

// WrappedRoundTripper lets client-go reach the transport below, to cancel requests and to upgrade connections.
func (t withCredential) WrappedRoundTripper() http.RoundTripper { return t.next }

// credentialOutput holds the output of the command, up to maxCredential bytes.
type credentialOutput struct {
	data []byte
	much bool // there was more
}

// Write implements io.Writer.
func (o *credentialOutput) Write(p []byte) (int, error) {
	if o.much = len(o.data)+len(p) > maxCredential; o.much {
		return 0, io.ErrShortWrite // the command cannot go on
	}
	o.data = append(o.data, p...)
	return len(p), nil
}
