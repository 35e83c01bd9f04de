package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/client"
)

// adminKeyFile holds the first key of a server, in the directory of its store.
const adminKeyFile = "admin.key"

func (c *cli) authCommand() *cobra.Command {
	return c.nounGroup(apiKeys, &cobra.Command{
		Use: "auth", Short: "API keys, and who may do what",
		Long: "Make, list, rotate and revoke API keys, and ask what the caller may do.\n\n" +
			"With --config the commands about keys work on the machine of the server: before its first start on its store,\n" +
			"and while it runs over its admin socket, or over REST with the key in the file admin.key unless another credential\n" +
			"is given.",
	}, c.authCreate(), c.authList(), c.authRotate(), c.authRevoke(), c.authReset(), c.authCan(), c.authWhoami(), c.authSessions())
}

var apiKeys = &resource[client.APIKey]{
	noun: "API key", member: "keys", prefix: core.PrefixAPIKey, empty: "no keys; `wardroom auth create-key` makes one",
	columns: []column[client.APIKey]{
		{head: "KEY", show: func(k *client.APIKey) any { return k.ID }},
		{head: "NAME", show: func(k *client.APIKey) any { return k.Name }, cut: 30},
		{head: "OWNER", show: func(k *client.APIKey) any { return k.Owner }, cut: 30},
		{head: "SCOPES", show: func(k *client.APIKey) any { return strings.Join(k.Scopes, ",") }, cut: 40},
		{head: "ROLES", show: func(k *client.APIKey) any { return strings.Join(k.Roles, ",") }, wide: true},
		{head: "STATUS", show: func(k *client.APIKey) any { return keyStatus(k) }},
		{head: "EXPIRES", show: func(k *client.APIKey) any { return keyEnd(k) }},
		{head: "USED", show: func(k *client.APIKey) any { return moment(k.LastUsedAt) }, wide: true},
		{head: "AGE", show: func(k *client.APIKey) any { return k.CreatedAt }},
	},
	filters: []filter{{flag: "owner", usage: "only those of this owner"}, byCreator},
	id:      func(k *client.APIKey) string { return k.ID },
	name:    func(k *client.APIKey) string { return k.Name },
	status:  func(k *client.APIKey) string { return string(k.Status) },
	over:    func(k *client.APIKey) bool { return k.Status != "active" },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListKeys(ctx, client.APIKeyFilter{Owner: sel.text("owner"), CreatedBy: sel.text("created-by"), Page: sel.Page})
	},
}

func keyStatus(k *client.APIKey) cell {
	if k.Status == "active" {
		return cell{string(k.Status), styleGood}
	}
	return cell{string(k.Status), styleFaint}
}

func keyEnd(k *client.APIKey) string {
	if k.ExpiresAt == nil {
		return "never"
	}
	return moment(k.ExpiresAt)
}

// authFlags say whose keys a command is about.
type authFlags struct{ config string }

func (f *authFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.config, "config", "", "configuration file of a server on this machine")
}

// keys runs a command about keys: offline on the store of a server that does not run, else online.
func (c *cli) keys(
	cmd *cobra.Command, f *authFlags, offline func(ctx context.Context, keys core.KeyService) error,
	online func(ctx context.Context, api *client.Client) error,
) error {
	return c.offlineOr(cmd, f, func(loaded *config.Config, at store.Location) error {
		return c.deps.Keys(cmd.Context(), loaded, at, offline)
	}, online)
}

// offlineOr runs offline on the directory of the store of a server that does not run, else online.
func (c *cli) offlineOr(
	cmd *cobra.Command, f *authFlags, offline func(loaded *config.Config, at store.Location) error,
	online func(ctx context.Context, api *client.Client) error,
) error {
	if f.config == "" {
		return c.call(cmd, online)
	}
	return c.atStore(cmd, f, offline, func() error { return c.call(cmd, online) })
}

// location is where the store of a configuration is.
func (c *cli) location(loaded *config.Config) store.Location {
	at := store.Location{Path: loaded.Store.Path}
	if c.deps.Encryption != nil {
		at.Encryption = c.deps.Encryption(loaded)
	}
	return at
}

// atStore runs a command on the machine of a server: offline with the directory of its store, or online, as the server's
// first key unless another credential is given, where the server runs.
func (c *cli) atStore(cmd *cobra.Command, f *authFlags, offline func(loaded *config.Config, at store.Location) error, online func() error) error {
	loaded, err := loadConfig(f.config)
	if err != nil {
		return err
	}
	err = offline(loaded, c.location(loaded))
	if owned := ownAs(loaded.Store.Path, loaded.Store.Path); err == nil { // root may have made the store of the service
		err = owned
	}
	if core.ErrorCode(err) != core.CodeConflict || !isInUse(err) {
		return denied(err)
	}
	if c.server == "" && c.deps.Getenv(envServer) == "" {
		c.server = c.runningServer(cmd.Context(), loaded)
	}
	if strings.HasPrefix(c.server, unixServer) {
		return online()
	}
	_, token, _, err := c.address()
	if err != nil {
		return err
	}
	if token == "" {
		data, err := os.ReadFile(filepath.Join(loaded.Store.Path, adminKeyFile))
		if err == nil {
			c.token = strings.TrimSpace(string(data))
		} else if loaded.Security.Enabled() {
			return &usageError{message: "the server runs, and its first key cannot be read", hint: "give a key with the scope admin in " + envToken + " or with --token-file"}
		}
	}
	return online()
}

// runningServer is where the server of a configuration is reached from its own machine: its admin socket, unless that is not
// for the caller or a credential is given, else its listener.
func (c *cli) runningServer(ctx context.Context, loaded *config.Config) string {
	if c.token == "" && c.deps.Getenv(envToken) == "" {
		own := cmp.Or(loaded.Server.AdminSocket, filepath.Join(loaded.Store.Path, adminSocketFile))
		if s, err := openAdminSocket(own); err == nil {
			return unixServer + s.path
		}
		// A service manager's directory holds that of a server whose configuration may be another one.
		if s, err := c.localSocket(); err == nil && s.serves(ctx, loaded.Files()[0]) {
			return unixServer + s.path
		}
	}
	scheme := "http://"
	if loaded.Security.MTLS.Enabled {
		scheme = "https://"
	}
	return scheme + localListen(loaded.Server.Listen)
}

// isInUse reports whether a store is open elsewhere, which a conflict with something in it is not.
func isInUse(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Details["resource"] == "store"
}

// localListen is the address at which a server that listens on listen is reached from its own machine.
func localListen(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func (c *cli) authCreate() *cobra.Command {
	var flags authFlags
	var spec core.APIKeySpec
	var expires string
	cmd := &cobra.Command{
		Use:   "create-key --name NAME --scopes A,B",
		Short: "Make an API key; it is shown once",
		Long: "Make an API key and print it; nothing shows it again.\n\nScopes: " + strings.Join(core.Scopes, ", ") + ".\n" +
			"admin stands for all, read for those that end in :read, execute for executions:create and executions:read.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if spec.Name == "" || len(spec.Scopes) == 0 {
				return usagef(cmd, "--name and --scopes are needed")
			}
			var err error
			if spec.Life, spec.Never, err = parseLife(cmd, expires); err != nil {
				return err
			}
			return c.keys(cmd, &flags, func(ctx context.Context, keys core.KeyService) error {
				k, err := keys.CreateKey(ctx, spec)
				if err != nil {
					return err
				}
				return c.showValue(k, func(s *screen) { newKeyScreen(s, &client.NewAPIKey{NewAPIKey: *k}) })
			}, func(ctx context.Context, api *client.Client) error {
				k, err := api.CreateKey(ctx, client.APIKeySpec{
					Name: spec.Name, Owner: spec.Owner, Scopes: spec.Scopes, Roles: spec.Roles, ExpiresIn: spec.Life.Milliseconds(), Never: spec.Never,
				}, "")
				return show(c, k, err, newKeyScreen)
			})
		},
	}
	flags.register(cmd)
	f := cmd.Flags()
	f.StringVar(&spec.Name, "name", "", "what the key is for")
	f.StringSliceVar(&spec.Scopes, "scopes", nil, "what it may do, comma-separated")
	f.StringVar(&expires, "expires", "90d", "how long it lives, such as 30d or 12h, or never")
	f.StringVar(&spec.Owner, "owner", "", "who acts by it (default the name)")
	f.StringSliceVar(&spec.Roles, "roles", nil, "roles it has beyond those that bindings give its owner, comma-separated (default the least that --scopes takes)")
	return cmd
}

// parseLife reads a duration with days, or never.
func parseLife(cmd *cobra.Command, text string) (life time.Duration, never bool, err error) {
	if text == "never" {
		return 0, true, nil
	}
	life, err = config.ParseDuration(text)
	if err != nil || life <= 0 {
		return 0, false, usagef(cmd, "--expires: %q is not a time such as 90d or 12h, nor never", text)
	}
	return life, false, nil
}

func newKeyScreen(s *screen, k *client.NewAPIKey) {
	keyScreen(s, &client.APIKey{APIKey: k.APIKey}, k.Key)
	if k.Warning != "" {
		s.line("Warning: %s.", clean(k.Warning))
	}
}

// keyScreen shows a key, with its secret if there is one.
func keyScreen(s *screen, k *client.APIKey, key string) {
	s.fields("key", k.ID, "name", k.Name, "owner", k.Owner, "scopes", strings.Join(k.Scopes, ","), "roles", strings.Join(k.Roles, ","),
		"status", keyStatus(k), "expires", keyEnd(k), "former secret until", moment(k.FormerUntil), "created by", k.CreatedBy)
	if key != "" {
		s.line("")
		s.line("%s", key)
		s.line("")
		s.line("It is shown once: keep it where only its owner can read it, and send it in %s or with --token-file.", envToken)
	}
}

func (c *cli) authList() *cobra.Command {
	var flags authFlags
	cmd := apiKeys.lists(c, &cobra.Command{Use: "list-keys", Aliases: []string{"list"}, Short: "List API keys, newest first"})
	online := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.config == "" {
			return online(cmd, args)
		}
		sel, err := c.selection(cmd, apiKeys.filters, args)
		if err != nil {
			return err
		}
		return c.keys(cmd, &flags, func(ctx context.Context, keys core.KeyService) error {
			found, info, err := keys.FindKeys(ctx, core.APIKeyFilter{
				Owner: sel.text("owner"), CreatedBy: sel.text("created-by"), Page: core.Page{Limit: sel.Limit, Offset: sel.Offset, Cursor: sel.Cursor},
			})
			if err != nil {
				return err
			}
			rows := make([]client.APIKey, len(found))
			for i, k := range found {
				rows[i].APIKey = *k
			}
			return c.showValue(map[string]any{"keys": found, "total": info.Total, "hasMore": info.HasMore}, func(s *screen) { apiKeys.draw(s, rows) })
		}, func(context.Context, *client.Client) error { return online(cmd, args) })
	}
	flags.register(cmd)
	return cmd
}

func (c *cli) authRotate() *cobra.Command {
	var flags authFlags
	var overlap string
	cmd := &cobra.Command{
		Use: "rotate-key ID", Short: "Give an API key another secret; it is shown once",
		RunE: func(cmd *cobra.Command, args []string) error {
			both, err := config.ParseDuration(overlap)
			if err != nil || both < 0 {
				return usagef(cmd, "--overlap must be a time such as 1d or 2h, not %q", overlap)
			}
			return c.keys(cmd, &flags, func(ctx context.Context, keys core.KeyService) error {
				k, err := keys.RotateKey(ctx, args[0], both)
				if err != nil {
					return err
				}
				return c.showValue(k, func(s *screen) { newKeyScreen(s, &client.NewAPIKey{NewAPIKey: *k}) })
			}, func(ctx context.Context, api *client.Client) error {
				k, err := api.RotateKey(ctx, args[0], client.Millis(both.Milliseconds()))
				return show(c, k, err, newKeyScreen)
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&overlap, "overlap", "0s", "how long the former secret is valid as well, up to 30d")
	return cmd
}

// showRevoked shows that a key or a token is revoked, unless err is why it is not.
func (c *cli) showRevoked(id string, err error) error {
	if err != nil {
		return err
	}
	return c.showValue(map[string]any{"id": id, "revoked": true}, func(s *screen) { s.line("%s is revoked", clean(id)) })
}

func (c *cli) authRevoke() *cobra.Command {
	var flags authFlags
	cmd := &cobra.Command{
		Use: "revoke-key ID", Short: "End an API key at once, and for good",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.keys(cmd, &flags, func(ctx context.Context, keys core.KeyService) error {
				return c.showRevoked(args[0], keys.RevokeKey(ctx, args[0]))
			}, func(ctx context.Context, api *client.Client) error {
				return c.showRevoked(args[0], api.RevokeKey(ctx, args[0]))
			})
		},
	}
	flags.register(cmd)
	return cmd
}

// authReset is the way out when what keys are hashed under is lost.
func (c *cli) authReset() *cobra.Command {
	var flags authFlags
	var yes bool
	cmd := &cobra.Command{
		Use: "reset --config FILE --yes", Short: "Give up all API keys and agent tokens of a server that does not run",
		Long: "Forget all API keys and agent tokens in the store of a server that does not run, for a store whose keys.pepper is lost:\n" +
			"without that file none of them is valid. The next start makes a first key, as that of a new server does.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.config == "" || !yes {
				return usagef(cmd, "--config and --yes are needed: whoever has a key needs another one afterwards")
			}
			loaded, err := loadConfig(flags.config)
			if err != nil {
				return err
			}
			count, err := c.deps.ResetKeys(cmd.Context(), c.location(loaded))
			if err != nil {
				return err
			}
			return c.showValue(map[string]any{"removed": count}, func(s *screen) { s.line("%d keys and tokens are gone", count) })
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}

func (c *cli) authCan() *cobra.Command {
	return &cobra.Command{
		Use: "can ACTION [RESOURCE]", Short: "Tell whether the caller may do something; exits with 5 if not",
		Long: "Tell whether the credential in use may do ACTION, such as executions.create, to RESOURCE: a kind such as\n" +
			"patterns, or one thing of it such as patterns/classify.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				resource := ""
				if len(args) > 1 {
					resource = args[1]
				}
				answer, err := api.Can(ctx, args[0], resource)
				if err := show(c, answer, err, canScreen); err != nil {
					return err
				}
				if !answer.Allowed {
					return &outcomeError{code: exitAuth}
				}
				return nil
			})
		},
	}
}

func canScreen(s *screen, answer *client.Can) {
	word := "no"
	if answer.Allowed {
		word = "yes"
	}
	if answer.Reason != "" {
		word += ": " + clean(answer.Reason)
	}
	s.line("%s", word)
}

func (c *cli) authWhoami() *cobra.Command {
	return &cobra.Command{
		Use: "whoami", Short: "Tell who the credential in use belongs to",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Session, error) {
				return api.GetSession(ctx)
			}, func(s *screen, a *client.Session) {
				s.fields("id", a.ID, "name", a.Name, "kind", a.Kind, "key", a.KeyID, "session", a.SessionID, "groups", strings.Join(a.Groups, ","), "roles", strings.Join(a.Roles, ","),
					"scopes", strings.Join(a.Scopes, ","), "expires", moment(a.ExpiresAt), "may", fmt.Sprintf("%d actions; -o json lists them", len(a.Actions)))
			})
		},
	}
}
