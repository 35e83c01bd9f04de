package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Where the admin socket of this machine's server is, unless the environment names another.
const (
	adminSocketPath = "/run/wardroom/admin.sock"
	adminSocketFile = "admin.sock" // in store.path
	// formerAdminToken is the token of any socket in its directory, as servers of earlier releases that still run have it.
	formerAdminToken = "admin.token"
	envAdminSocket   = "WARDROOM_ADMIN_SOCKET"
)

// maxAdminAnswer bounds an answer of the admin socket that is read as a whole.
const maxAdminAnswer = 16 << 20

// unixServer is the prefix of a server address that names a Unix socket of this machine.
const unixServer = "unix:"

// adminSocket speaks to the admin socket of a server of this machine.
type adminSocket struct {
	path  string
	token string       // when it was opened; each start of the server makes another
	http  *http.Client // gives each request the token of the server that runs then
}

// adminTransport sends requests to an admin socket with the token that is beside it at that moment: a command that waits goes
// on with the next server after a restart.
type adminTransport struct {
	socket *adminSocket
	next   http.RoundTripper
}

func (t *adminTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	t.socket.authorize(r.Header)
	return t.next.RoundTrip(r)
}

// authorize gives a request the token of the server that runs now.
func (s *adminSocket) authorize(header http.Header) {
	token, err := readAdminToken(s.path)
	if err != nil {
		token = s.token // none runs for the moment, as sending the request shows
	}
	header.Set("Authorization", "Bearer "+token)
}

// readAdminToken reads the token of an admin socket.
func readAdminToken(path string) (string, error) {
	token, err := os.ReadFile(config.AdminToken(path))
	if errors.Is(err, fs.ErrNotExist) {
		token, err = os.ReadFile(filepath.Join(filepath.Dir(path), formerAdminToken))
	}
	return strings.TrimSpace(string(token)), err
}

// dialFunc opens a connection.
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dial connects to the socket, whatever address is asked for.
func (s *adminSocket) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", s.path)
}

// localSocket returns the admin socket of this machine's server if the caller may use it: somebody listens, and the token
// beside it can be read. Else why not.
func (c *cli) localSocket() (*adminSocket, error) {
	return openAdminSocket(cmp.Or(c.deps.Getenv(envAdminSocket), adminSocketPath))
}

// openAdminSocket finds a socket and the token beside it.
func openAdminSocket(path string) (*adminSocket, error) {
	token, err := readAdminToken(path)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return nil, err
	}
	_ = conn.Close() // it showed that somebody listens
	s := &adminSocket{path: path, token: token}
	// A connection costs nothing here, and none is left behind.
	s.http = &http.Client{Transport: &adminTransport{s, &http.Transport{DialContext: s.dial, DisableKeepAlives: true}}}
	return s, nil
}

// admin returns the admin socket, or what to do about there being none.
func (c *cli) admin() (*adminSocket, error) {
	if path, ok := strings.CutPrefix(c.server, unixServer); ok {
		s, err := openAdminSocket(path)
		return s, noSocket(path, err)
	}
	if c.server != "" || c.context != "" {
		return nil, &usageError{message: "this command works on the machine of the server only, over its admin socket", hint: "leave --server and --context out, or name a socket: --server unix:PATH"}
	}
	s, err := c.localSocket()
	path := cmp.Or(c.deps.Getenv(envAdminSocket), adminSocketPath)
	return s, noSocket(path, err)
}

// chosenSocket returns the socket that commands talk to; nil where they talk to an address of the network. A socket is named
// as --server unix:PATH, and that of this machine's server is taken where nothing chooses a server or gives a credential.
func (c *cli) chosenSocket(server string) (*adminSocket, error) {
	if path, ok := strings.CutPrefix(server, unixServer); ok {
		s, err := openAdminSocket(path)
		return s, noSocket(path, err)
	}
	for _, chosen := range []string{c.server, c.context, c.token, c.deps.Getenv(envServer), c.deps.Getenv(envContext), c.deps.Getenv(envToken)} {
		if chosen != "" {
			return nil, nil
		}
	}
	if server != defaultServer {
		return nil, nil // a context of the user chose it
	}
	s, err := c.localSocket()
	if err != nil {
		return nil, nil //nolint:nilerr // there is none, or it is not for the caller: then the network it is
	}
	return s, nil
}

// noSocket says why the admin socket cannot be used.
func noSocket(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrPermission):
		return &outcomeError{code: exitAuth, message: path + " is for root and the user of the service", hint: "try again with sudo"}
	}
	return &outcomeError{
		code: exitUnavailable, message: "no server listens on " + path,
		hint: "start it (systemctl start wardroom), or name its socket: " + envAdminSocket + "=PATH",
	}
}

// serves reports whether the server behind the socket has read its configuration from a file.
func (s *adminSocket) serves(ctx context.Context, file string) bool {
	file, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	text, err := s.read(ctx, http.MethodGet, "/admin/status", nil)
	if err != nil {
		return false
	}
	var status wire.AdminStatus
	return json.Unmarshal(text, &status) == nil && slices.Contains(status.Config, file)
}

// do sends one request and returns the answer, whose body the caller closes. An answer that refuses is an error.
func (s *adminSocket) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, content)
	if err != nil {
		return nil, err
	}
	answer, err := s.http.Do(r)
	if err != nil {
		return nil, &outcomeError{code: exitUnavailable, message: "the server did not answer on " + s.path + ": " + lastCause(err)}
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, adminRefusal(answer)
}

// lastCause is the innermost text of an error of the network.
func lastCause(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

// adminRefusal reads the error of an answer.
func adminRefusal(answer *http.Response) error {
	var refused wire.AdminError
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAdminAnswer))
	if err == nil {
		err = json.Unmarshal(data, &refused)
	}
	if err != nil || refused.Error.Code == "" {
		return fmt.Errorf("the server answered with status %d", answer.StatusCode)
	}
	if problems := refused.Error.Problems; len(problems) > 0 {
		return &usageError{message: "the configuration is not valid, and the former one stays in effect", candidates: problems}
	}
	return &core.Error{Code: core.Code(refused.Error.Code), Message: refused.Error.Message}
}

// read asks for a document.
func (s *adminSocket) read(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	answer, err := s.do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(io.LimitReader(answer.Body, maxAdminAnswer))
}

// askAdmin reads a document into a value, and returns its text. An error that a deadline of the command made is reported as late.
func (c *cli) askAdmin(ctx context.Context, s *adminSocket, method, path string, body, into any) (json.RawMessage, error) {
	text, err := s.read(ctx, method, path, body)
	if err != nil {
		return nil, c.late(ctx, err)
	}
	return text, json.Unmarshal(text, into)
}

func (c *cli) reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Have the server of this machine read its configuration again",
		Long: "Have the server of this machine read its configuration again, and wait until it is in effect. With one problem\n" +
			"in it the former one stays in effect as a whole, every problem is shown, and the exit code is 2.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.admin()
			if err != nil {
				return err
			}
			ctx, cancel := c.bounded(cmd.Context())
			defer cancel()
			var done wire.AdminReload
			body, err := c.askAdmin(ctx, s, http.MethodPost, "/admin/reload", nil, &done)
			if err != nil {
				return err
			}
			return c.show(body, func(s *screen) {
				s.line("the configuration is in effect: %s", clean(strings.Join(done.Files, ", ")))
				if len(done.WaitForRestart) > 0 {
					s.line("these keys wait for a restart: %s", clean(strings.Join(done.WaitForRestart, ", ")))
				}
			})
		},
	}
}

func (c *cli) logLevelCommand() *cobra.Command {
	part := ""
	cmd := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show or change how much the server of this machine logs",
		Long: "Show how much the server of this machine and its plugins log, or change it while they run: to trace, debug,\n" +
			"info, warn or error. --part changes one part alone, which lines of the log are named after, such as webhooks\n" +
			"or plugins.runtime-docker; plugins is all plugins. A level without --part is that of all parts. The next\n" +
			"reload or restart brings log.level and log.parts of the configuration back.",
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return core.LogLevels, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.admin()
			if err != nil {
				return err
			}
			ctx, cancel := c.bounded(cmd.Context())
			defer cancel()
			method, change := http.MethodGet, any(nil)
			if len(args) == 1 {
				method, change = http.MethodPut, wire.AdminLog{Level: args[0], Part: part}
			}
			var level wire.AdminLog
			body, err := c.askAdmin(ctx, s, method, "/admin/log", change, &level)
			if err != nil {
				return err
			}
			one := slices.IndexFunc(level.Parts, func(p wire.AdminLogPart) bool { return p.Part == part })
			if part != "" && one < 0 {
				return usagef(cmd, "--part %s is no part of the server; they are %s", part, strings.Join(partNames(level.Parts), ", "))
			}
			return c.show(body, func(s *screen) {
				if part != "" {
					s.line("%s", level.Parts[one].Level)
					return
				}
				s.line("%s (configured: %s)", level.Level, level.Configured)
				for _, p := range level.Parts {
					if p.Level != level.Level {
						s.line("%s: %s", clean(p.Part), p.Level)
					}
				}
			})
		},
	}
	cmd.Flags().StringVar(&part, "part", "", "this part alone: access, webhooks, plugins.NAME...")
	_ = cmd.RegisterFlagCompletionFunc("part", cobra.FixedCompletions(core.LogParts, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func partNames(parts []wire.AdminLogPart) []string {
	names := make([]string, 0, len(parts))
	for _, p := range parts {
		names = append(names, p.Part)
	}
	return names
}

// localStatus shows the state of the server of this machine, over its admin socket.
func (c *cli) localStatus(ctx context.Context, s *adminSocket) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var state wire.AdminStatus
	body, err := c.askAdmin(ctx, s, http.MethodGet, "/admin/status", nil, &state)
	if err != nil {
		return err
	}
	if err := c.show(body, func(s *screen) {
		s.fields("server", state.Address, "status", status(state.Status), "version", state.Version, "pid", state.PID,
			"up since", state.StartedAt.Local().Format(time.DateTime), "configuration", clean(strings.Join(state.Config, ", ")), "log level", state.LogLevel)
		cells := make([][]cell, 0, len(state.Rows))
		for _, row := range state.Rows {
			text := row.Message
			if row.Hint != "" {
				text += " (" + row.Hint + ")"
			}
			since := ""
			if row.Since != nil {
				since = moment(row.Since)
			}
			cells = append(cells, []cell{{text: row.Kind}, {text: clean(row.Name)}, status(row.Status), {text: since}, {text: clean(strings.TrimSpace(text))}})
		}
		s.line("")
		s.grid([]string{"KIND", "NAME", "STATUS", "SINCE", "MESSAGE"}, []int{0, 0, 0, 0, uncut}, cells)
	}); err != nil {
		return err
	}
	if state.Status == "unhealthy" {
		return &outcomeError{code: exitUnavailable, message: "the server is unhealthy"}
	}
	return nil
}

// environOf returns the look-up of environment variables in those of a running process.
func environOf(pid int) (config.Lookup, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil, &usageError{message: fmt.Sprintf("the environment of process %d cannot be read: %s", pid, lastCause(err))}
	}
	values := map[string]string{}
	for pair := range strings.SplitSeq(string(data), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			values[name] = value
		}
	}
	return func(name string) (string, bool) { value, ok := values[name]; return value, ok }, nil
}
