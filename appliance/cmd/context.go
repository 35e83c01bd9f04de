package cmd

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/client"
)

// envContext names the context to use, for one shell.
const envContext = "WARDROOM_CONTEXT"

// contexts is the file of a user's servers: which there are, and which one commands talk to when nothing else says.
type contexts struct {
	Current  string                   `json:"current,omitempty"`
	Contexts map[string]serverContext `json:"contexts"`

	path string
}

// serverContext is how one server is reached.
type serverContext struct {
	Server string `json:"server"`
	CA     string `json:"ca,omitempty"` // file with the certificates that its own may be signed by; empty: those of the system
	// TokenFile holds the credential; empty: that of `wardroom login`, if there is one.
	TokenFile string `json:"tokenFile,omitempty"`
}

var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// contextsPath is where the file lies: under the user's directory for configuration.
func (c *cli) contextsPath() (string, error) {
	dir := c.deps.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := c.deps.Getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("neither XDG_CONFIG_HOME nor HOME names a directory for the contexts")
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "wardroom", "contexts.json"), nil
}

// readContexts reads the file; one that is not there has no contexts.
func (c *cli) readContexts() (*contexts, error) {
	path, err := c.contextsPath()
	if err != nil {
		return nil, err
	}
	all := &contexts{Contexts: map[string]serverContext{}, path: path}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(all); err != nil || all.Contexts == nil {
		return nil, &usageError{message: path + " cannot be read as contexts", hint: "mend or remove the file"}
	}
	return all, nil
}

// write replaces the file, where it really lies.
func (all *contexts) write() error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	path, err := behindLinks(all.path)
	if err != nil {
		return err
	}
	return replaceFile(path, data)
}

// mostLinks is how many links of one file are followed.
const mostLinks = 40

// behindLinks returns where a file lies, or would lie: where it leads as a link, whether there is something or not.
func behindLinks(path string) (string, error) {
	for range mostLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil //nolint:nilerr // it is no link, or not there yet
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return "", &usageError{message: path + " is a link that leads back to itself", hint: "mend or remove it"}
}

func (all *contexts) names() []string { return slices.Sorted(maps.Keys(all.Contexts)) }

// find returns a context by its name.
func (all *contexts) find(name string) (serverContext, error) {
	if have, ok := all.Contexts[name]; ok {
		return have, nil
	}
	there := "there is none"
	if len(all.Contexts) > 0 {
		there = "there is " + strings.Join(all.names(), ", ")
	}
	return serverContext{}, &usageError{message: fmt.Sprintf("no context %q; %s", name, there), hint: "add it with `wardroom context add`"}
}

// chosenContext returns the context that commands talk to, and what it is reached with. An address that was given, by flag
// or environment, leaves the contexts out: then the file is not even read.
func (c *cli) chosenContext() (chosen serverContext, credential string, err error) {
	name := c.context
	if name == "" {
		if c.server != "" || c.deps.Getenv(envServer) != "" {
			return chosen, "", nil
		}
		name = c.deps.Getenv(envContext)
	}
	if path, err := c.contextsPath(); err != nil || name == "" && !exists(path) {
		return chosen, "", nil //nolint:nilerr // a user without a home has no contexts
	}
	all, err := c.readContexts()
	if err != nil {
		return chosen, "", err
	}
	name = cmp.Or(name, all.Current)
	if name == "" {
		return chosen, "", nil
	}
	if chosen, err = all.find(name); err != nil || c.token != "" || c.deps.Getenv(envToken) != "" {
		return chosen, "", err
	}
	credential, err = c.credential(name, all)
	return chosen, credential, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tlsConfig trusts the certificates of the context's file alone; nil where the system's are to be trusted.
func (s serverContext) tlsConfig() (*tls.Config, error) {
	if s.CA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, fmt.Errorf("certificates of the context: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &usageError{message: s.CA + " holds no certificate in PEM", hint: "name another file with `wardroom context add`"}
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

func (c *cli) contextCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "context", Aliases: []string{"contexts"}, Short: "Keep the addresses of several servers, and choose one",
		Long: "Keep the addresses of several servers in a file of yours, each with its credential, and choose the one that commands\n" +
			"talk to. The credential is a file that you name, or that of `wardroom login`; it is sent to that server alone.\n\n" +
			"--server and WARDROOM_SERVER go before the chosen context, and --context NAME before all of them. --token, --token-file\n" +
			"and WARDROOM_TOKEN go before its credential.",
	})
	cmd.AddCommand(c.contextAdd(), c.contextUse(), c.contextList(), c.contextRemove())
	return cmd
}

func (c *cli) contextAdd() *cobra.Command {
	var ca string
	var use bool
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a server, or change it",
		Long: "Add a server, or change it. With --token-file the context is reached with the credential in that file, which is read anew\n" +
			"by each command; without it by what `wardroom login` keeps.",
		Example: "  wardroom context add plant --server https://wardroom.example.com --ca plant-ca.pem --use\n" +
			"  wardroom context add ci --server https://wardroom.example.com --token-file /run/secrets/wardroom",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !contextName.MatchString(args[0]) {
				return usagef(cmd, "NAME must be 1 to 64 letters, digits, dots, dashes or underscores")
			}
			if c.server == "" {
				return usagef(cmd, "--server is missing: the address of the server")
			}
			if _, err := client.New(c.server, client.Options{}); err != nil {
				return usagef(cmd, "--server: %s", err)
			}
			made := serverContext{Server: c.server}
			if ca != "" {
				var err error
				if made.CA, err = filepath.Abs(ca); err != nil {
					return err
				}
				if _, err := made.tlsConfig(); err != nil {
					return err
				}
			}
			if c.tokenFile == "-" {
				return usagef(cmd, "--token-file must be a file: the context keeps its name, and reads it each time")
			}
			if c.tokenFile != "" {
				var err error
				if made.TokenFile, err = filepath.Abs(c.tokenFile); err != nil {
					return err
				}
			} else if c.token != "" {
				return usagef(cmd, "--token is not kept; give the name of a file with --token-file")
			}
			return c.changeContexts(func(all *contexts) (string, error) {
				before, known := all.Contexts[args[0]]
				if known && before.Server != made.Server {
					if err := all.removeLogin(args[0]); err != nil {
						return "", err
					}
				}
				all.Contexts[args[0]] = made
				if use || len(all.Contexts) == 1 {
					all.Current = args[0]
				}
				if known {
					return "changed " + args[0], nil
				}
				return "added " + args[0], nil
			})
		},
	}
	cmd.Flags().StringVar(&ca, "ca", "", "file with the certificates (PEM) that the server's own is signed by, in place of the system's")
	cmd.Flags().BoolVar(&use, "use", false, "choose it as well; the first one is chosen anyway")
	return cmd
}

func (c *cli) contextUse() *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Choose the server that commands talk to",
		RunE: func(_ *cobra.Command, args []string) error {
			return c.changeContexts(func(all *contexts) (string, error) {
				_, err := all.find(args[0])
				all.Current = args[0]
				return "commands talk to " + args[0] + " from now on", err
			})
		},
	}
}

func (c *cli) contextRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Forget a server",
		RunE: func(_ *cobra.Command, args []string) error {
			return c.changeContexts(func(all *contexts) (string, error) {
				_, err := all.find(args[0])
				if err == nil {
					err = all.removeLogin(args[0])
				}
				delete(all.Contexts, args[0])
				if all.Current == args[0] {
					all.Current = ""
				}
				return "removed " + args[0], err
			})
		},
	}
}

// changeContexts changes the file and prints what was done; nothing is written after an error.
func (c *cli) changeContexts(change func(all *contexts) (string, error)) error {
	var all *contexts
	var done string
	if err := c.updateContexts(func(now *contexts) (err error) {
		all = now
		done, err = change(now)
		return err
	}); err != nil {
		return err
	}
	return c.showValue(all, func(s *screen) { s.line("%s", done) })
}

// updateContexts changes the file as it is now, while no other command does; nothing is written after an error.
func (c *cli) updateContexts(change func(all *contexts) error) error {
	path, err := c.contextsPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	dir, err := c.lockDirectory(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close() // which lets go
	all, err := c.readContexts()
	if err != nil {
		return err
	}
	if err := change(all); err != nil {
		return err
	}
	return all.write()
}

// lockWait is how long a command waits for another one that changes the contexts, which takes it milliseconds.
const lockWait = 5 * time.Second

// lockDirectory takes a directory for this command, until the returned file is closed. A file system without locks has none.
func (c *cli) lockDirectory(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockWait); ; {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return dir, nil
		}
		if time.Now().After(deadline) {
			err = &outcomeError{code: exitConflict, message: "another command has been changing " + path + " for " + lockWait.String(), hint: "end it, and try again"}
		} else {
			err = pauseFor(c.ctx, firstPause/10)
		}
		if err != nil {
			_ = dir.Close()
			return nil, err
		}
	}
}

func (c *cli) contextList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the servers",
		RunE: func(*cobra.Command, []string) error {
			all, err := c.readContexts()
			if err != nil {
				return err
			}
			return c.showValue(all, func(s *screen) {
				if len(all.Contexts) == 0 {
					s.line("no contexts; add one with `wardroom context add`")
					return
				}
				rows := make([][]cell, 0, len(all.Contexts))
				for _, name := range all.names() {
					mark := ""
					if name == all.Current {
						mark = "*"
					}
					have := all.Contexts[name]
					rows = append(rows, plain(mark, name, have.Server, c.credentialText(name, all), have.CA))
				}
				s.table([]string{"", "CONTEXT", "SERVER", "CREDENTIAL", "CA"}, rows)
			})
		},
	}
}

// credentialText returns what a context is reached with.
func (c *cli) credentialText(name string, all *contexts) string {
	if path := all.Contexts[name].TokenFile; path != "" {
		return path
	}
	saved, err := all.readLogin(name)
	switch {
	case err != nil:
		return "unreadable login"
	case saved == nil:
		return ""
	case !c.now().Before(saved.ExpiresAt):
		return "login of " + saved.User + ", which ended"
	}
	return "login of " + saved.User
}
