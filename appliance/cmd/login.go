package cmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) loginCommand() *cobra.Command {
	var device, noBrowser bool
	cmd := &cobra.Command{
		Use: "login", Short: "Sign in by a browser, and keep the credential for a context",
		Long: "Sign in at a server by a browser, at its identity provider, and keep the credential for the context in a file that only\n" +
			"you can read. Compare the code that the page shows with that of the command, and approve.\n\n" +
			"The browser has to be on this machine; with --device it may be on any other one. The context is the chosen one; an\n" +
			"address that is given by --server becomes one of its own.",
		Example: "  wardroom login --server https://wardroom.example.com\n  wardroom login --context plant --device",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.login(cmd, device, noBrowser)
		},
	}
	cmd.Flags().BoolVar(&device, "device", false, "approve in a browser on any machine, and wait here")
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "open no browser: print the address alone")
	return cmd
}

// login signs in and keeps the credential.
func (c *cli) login(cmd *cobra.Command, device, noBrowser bool) error {
	all, name, err := c.loginContext()
	if err != nil {
		return err
	}
	trust, err := all.Contexts[name].tlsConfig()
	if err != nil {
		return err
	}
	server := all.Contexts[name].Server
	api, err := client.New(server, client.Options{TLS: trust, UserAgent: userAgent()})
	if err != nil {
		return err
	}
	c.api = api // which Execute closes
	methods, err := bounded(c, cmd, api.SignInMethods)
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && refused.Code == client.CodeNotFound:
		return &outcomeError{code: exitFailed, message: "people do not sign in at this server: no security is configured there"}
	case err != nil:
		return err
	case !methods.SSO:
		return &outcomeError{
			code: exitFailed, message: "this server has no identity provider to sign in at",
			hint: "use an API key: `wardroom context add " + name + " --server " + server + " --token-file FILE`",
		}
	}
	token, err := c.grant(cmd, api, device, noBrowser)
	if err != nil {
		return err
	}
	login := &savedLogin{Server: server, Token: token.Token, SessionID: token.ID, User: token.User, ExpiresAt: token.ExpiresAt}
	if err := c.keepLogin(name, all.Contexts[name], login); err != nil {
		c.disown(all, name, login, trust)
		return err
	}
	return c.showValue(map[string]any{"context": name, "server": server, "user": token.User, "sessionId": token.ID, "expiresAt": token.ExpiresAt},
		func(s *screen) {
			s.line("signed in to %s as %s until %s", name, clean(token.Name), token.ExpiresAt.Local().Format(time.DateTime))
		})
}

// disownWithin bounds how long a command that failed goes on for the sake of a session that it cannot keep.
const disownWithin = 5 * time.Second

// disown ends the session of a login that could not be kept, even of a command that was interrupted: nothing else has its credential.
func (c *cli) disown(all *contexts, name string, login *savedLogin, trust *tls.Config) {
	if kept, err := all.readLogin(name); err == nil && kept != nil && kept.Token == login.Token {
		_ = all.removeLogin(name) // it is of no use any more
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), disownWithin)
	defer cancel()
	api, err := client.New(login.Server, client.Options{Token: login.Token, TLS: trust, UserAgent: userAgent()})
	if err == nil {
		_, err = api.SignOut(ctx)
		api.Close()
	}
	if err != nil {
		c.noteSession("The credential is not kept here", login)
	}
}

// noteSession writes that a session goes on at the server although its credential is gone.
func (c *cli) noteSession(what string, login *savedLogin) {
	fmt.Fprintf(c.deps.Stderr, "%s, but the server does not know: the session %s goes on there until %s.\n",
		what, clean(login.SessionID), login.ExpiresAt.Local().Format(time.DateTime))
}

// keepLogin keeps a login, and the context that it was made for if there is none of the name any more.
func (c *cli) keepLogin(name string, of serverContext, login *savedLogin) error {
	return c.updateContexts(func(all *contexts) error {
		have, known := all.Contexts[name]
		if known && have.Server != of.Server {
			return &outcomeError{
				code: exitFailed, message: "the context " + name + " was changed meanwhile", hint: "sign in again with `wardroom login --context " + name + "`",
			}
		}
		if !known {
			all.Contexts[name] = of
			all.Current = cmp.Or(all.Current, name)
		}
		return all.writeLogin(name, login)
	})
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// loginContext returns the context to sign in to; an address that was given is one of its own.
func (c *cli) loginContext() (*contexts, string, error) {
	if c.context != "" && c.server != "" {
		return nil, "", &usageError{message: "--context and --server exclude each other"}
	}
	all, err := c.readContexts()
	if err != nil {
		return nil, "", err
	}
	server := c.server
	if server == "" {
		server = c.deps.Getenv(envServer)
	}
	name := c.context
	if name == "" && server == "" {
		if name = c.deps.Getenv(envContext); name == "" {
			name = all.Current
		}
	}
	if name != "" {
		_, err := all.find(name)
		return all, name, err
	}
	server = cmp.Or(server, defaultServer)
	api, err := client.New(server, client.Options{})
	if err != nil {
		return nil, "", &usageError{message: err.Error(), hint: "name the server with --server or " + envServer}
	}
	for known, have := range all.Contexts {
		if have.Server == server {
			return all, known, nil
		}
	}
	u, err := url.Parse(api.BaseURL())
	if err != nil {
		return nil, "", err
	}
	name = strings.Trim(notInName.ReplaceAllString(u.Host, "-"), "-._")
	name = name[:min(len(name), 64)]
	if _, taken := all.Contexts[name]; taken {
		return nil, "", &usageError{message: "the context " + name + " has another address", hint: "add one with `wardroom context add`, and sign in with --context"}
	}
	all.Contexts[name] = serverContext{Server: server}
	return all, name, nil
}

// bounded runs one request, bounded by --timeout.
func bounded[T any](c *cli, cmd *cobra.Command, call func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := c.bounded(cmd.Context())
	defer cancel()
	out, err := call(ctx)
	return out, c.late(ctx, err)
}

// grant has a person approve this command line, and returns its credential.
func (c *cli) grant(cmd *cobra.Command, api *client.Client, device, noBrowser bool) (*client.CLIToken, error) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails: crypto/rand ends the process first
	verifier := base64.RawURLEncoding.EncodeToString(raw)
	sum := sha256.Sum256([]byte(verifier))
	ask := client.CLILogin{Challenge: base64.RawURLEncoding.EncodeToString(sum[:])}
	if host, err := os.Hostname(); err == nil {
		ask.Client = host[:min(len(host), 100)]
	}
	var wait *loopback
	if !device {
		var err error
		if wait, err = newLoopback(cmd.Context()); err != nil {
			return nil, err
		}
		defer wait.close()
		ask.Port = wait.port
	}
	grant, err := bounded(c, cmd, func(ctx context.Context) (*client.CLIGrant, error) { return api.BeginCLILogin(ctx, ask) })
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(grant.URL, "/") {
		return nil, errors.New("the server's answer does not name a page of its own")
	}
	address := api.BaseURL() + grant.URL
	fmt.Fprintf(c.deps.Stderr, "Open this address in a browser%s, and approve if it shows the code %s:\n\n  %s\n\n",
		map[bool]string{true: "", false: " on this machine"}[device], clean(grant.UserCode), clean(address))
	if !device && !noBrowser {
		if err := c.deps.OpenBrowser(address); err != nil {
			fmt.Fprintln(c.deps.Stderr, "No browser could be opened here.")
		}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Duration(grant.ExpiresIn)*time.Millisecond)
	defer cancel()
	redeem := client.CLIRedeem{DeviceCode: grant.DeviceCode, Verifier: verifier}
	if wait != nil {
		if redeem.Code, err = wait.code(ctx); err != nil {
			return nil, grantOver(cmd, err)
		}
		return bounded(c, cmd, func(ctx context.Context) (*client.CLIToken, error) { return api.RedeemCLILogin(ctx, redeem) })
	}
	for {
		if err := c.deps.Sleep(ctx, max(time.Duration(grant.Interval)*time.Millisecond, time.Second)); err != nil {
			return nil, grantOver(cmd, err)
		}
		token, err := bounded(c, cmd, func(ctx context.Context) (*client.CLIToken, error) { return api.RedeemCLILogin(ctx, redeem) })
		var refused *client.Error
		pending := errors.As(err, &refused) && (refused.Code == client.CodeConflict && refused.Details["status"] == "pending" ||
			refused.Code == client.CodeRateLimited)
		if !pending && !client.Unreachable(err) {
			return token, err
		}
	}
}

// grantOver returns the error of a login that was not approved.
func grantOver(cmd *cobra.Command, err error) error {
	if cmd.Context().Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return &outcomeError{code: exitTimeout, message: "the login was not approved in time"}
	}
	return err
}

// loopback waits at an address of this machine for the browser to bring the code.
type loopback struct {
	port     int
	listener net.Listener
	server   *http.Server
	codes    chan string // "" when the person refused
	done     chan struct{}
}

func newLoopback(ctx context.Context) (*loopback, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wait for the browser: %w", err)
	}
	l := &loopback{port: listener.Addr().(*net.TCPAddr).Port, listener: listener, codes: make(chan string, 1), done: make(chan struct{})}
	l.server = &http.Server{Handler: l, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		defer close(l.done)
		_ = l.server.Serve(listener) // until close
	}()
	return l, nil
}

// ServeHTTP takes the code. What else comes in at the port is refused.
func (l *loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	code, refused := query.Get("code"), query.Get("error")
	if r.Method != http.MethodGet || r.URL.Path != "/" || r.Host != fmt.Sprintf("127.0.0.1:%d", l.port) || code == "" && refused == "" {
		http.NotFound(w, r)
		return
	}
	select {
	case l.codes <- code:
	default: // it was there before
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer")
	text := "The command line goes on. You can close this page."
	if code == "" {
		text = "The command line is not signed in."
	}
	_, _ = fmt.Fprintln(w, text)
}

// code waits for the browser.
func (l *loopback) code(ctx context.Context) (string, error) {
	select {
	case code := <-l.codes:
		if code == "" {
			return "", &outcomeError{code: exitAuth, message: "the login was refused in the browser"}
		}
		return code, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// close ends the waiting; the browser gets its answer first.
func (l *loopback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close()
	}
	<-l.done
}

// openBrowser opens an address in the browser of the person at this machine.
func openBrowser(address string) error {
	program, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	browser := exec.Command(path, args...)
	if err := browser.Start(); err != nil {
		return err
	}
	return browser.Process.Release() // it outlives us
}

func (c *cli) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Sign out of a context, and forget its credential",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.readContexts()
			if err != nil {
				return err
			}
			name := c.context
			if name == "" {
				if name = c.deps.Getenv(envContext); name == "" {
					name = all.Current
				}
			}
			if name == "" {
				return &usageError{message: "no context is chosen", hint: "name it with --context"}
			}
			have, err := all.find(name)
			if err != nil {
				return err
			}
			saved, err := all.readLogin(name)
			if err != nil {
				return err
			}
			if saved == nil {
				return c.showValue(map[string]any{"context": name, "signedOut": false}, func(s *screen) { s.line("not signed in to %s", name) })
			}
			trust, err := have.tlsConfig()
			if err != nil {
				return err
			}
			// Whatever the server says, the credential is not kept.
			if err := all.removeLogin(name); err != nil {
				return err
			}
			if c.now().Before(saved.ExpiresAt) {
				api, err := client.New(have.Server, client.Options{Token: saved.Token, TLS: trust, UserAgent: userAgent()})
				if err != nil {
					return err
				}
				c.api = api
				_, err = bounded(c, cmd, api.SignOut)
				if err != nil && client.CodeOf(err) != client.CodeUnauthorized { // which is over already
					c.noteSession("The credential is forgotten here", saved)
					return err
				}
			}
			return c.showValue(map[string]any{"context": name, "signedOut": true}, func(s *screen) { s.line("signed out of %s", name) })
		},
	}
}

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
