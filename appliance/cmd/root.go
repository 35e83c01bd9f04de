package cmd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Names and defaults of the settings that all commands share.
const (
	defaultServer  = "http://127.0.0.1:8080"
	defaultTimeout = 30 * time.Second
	envServer      = "WARDROOM_SERVER"
	envToken       = "WARDROOM_TOKEN"
)

// RunOptions are what serve and dev hand to the product.
type RunOptions struct {
	ConfigPath string            // of serve; empty in dev
	Dev        bool              // loopback, no authentication, development environment
	Listen     string            // of dev: host:port; port 0 takes a free one
	DataDir    string            // of dev
	Temporary  bool              // of dev: DataDir is removed at the end
	Insecure   bool              // serve may bind other addresses than loopback without security
	Stderr     io.Writer         // the process log
	Version    string            // of the binary
	Commit     string            // that it was built from; empty if that is not known
	Ready      func(addr string) // called once the server takes requests, with the bound host:port
}

// Deps are what the command line needs from outside. The zero value of each field but Run has a default.
type Deps struct {
	// Run runs the product until ctx ends, and returns nil after an orderly stop.
	Run func(ctx context.Context, opts RunOptions) error
	// Retention holds the configured bounds of what is kept.
	Retention func(c *config.Config) store.Policy
	// CheckConfig returns what a start would say against a configuration, beyond the rules of the file.
	CheckConfig func(c *config.Config) error
	// Encryption is what opens the store of a configuration; nil for one in clear.
	Encryption func(c *config.Config) *store.Encryption
	// Keys hands fn the API keys in the directory of a store that no server has open. CONFLICT when one has.
	Keys func(ctx context.Context, c *config.Config, at store.Location, fn func(ctx context.Context, keys core.KeyService) error) error
	// AgentTokens is Keys for the registration tokens of agents.
	AgentTokens func(ctx context.Context, at store.Location, fn func(ctx context.Context, tokens core.AgentTokenService) error) error
	// ResetKeys forgets all keys and registration tokens in such a directory, and returns how many there were.
	ResetKeys func(ctx context.Context, at store.Location) (int, error)
	// Audit hands fn the audit trail in the directory of a store that no server has open. CONFLICT when one has.
	Audit func(ctx context.Context, at store.Location, fn func(ctx context.Context, audit core.AuditService) error) error
	// RemovePlugin removes an installed plugin of a service that does not run. CONFLICT when it runs.
	RemovePlugin func(ctx context.Context, c *config.Config, at store.Location, name string) (*wire.PluginRemoval, error)
	Policy       PolicyTools

	Stdin  io.Reader               // nil: os.Stdin
	Stdout io.Writer               // nil: os.Stdout
	Stderr io.Writer               // nil: os.Stderr
	Getenv func(key string) string // nil: os.Getenv
	Now    func() time.Time        // nil: time.Now; ages are shown at it

	OpenBrowser func(address string) error                       // nil: the browser of this machine
	Sleep       func(ctx context.Context, d time.Duration) error // nil: waits, or returns the error of ctx
}

// cli is one run of the command line.
type cli struct {
	deps Deps

	// Global flags.
	server    string
	context   string
	token     string
	tokenFile string
	output    string
	noColor   bool
	timeout   time.Duration

	out   *outWriter      // of cobra
	ctx   context.Context // of the command; ended by a signal
	path  *jsonPath       // of --output jsonpath=; else nil
	api   *client.Client  // made by client; nil before
	dial  dialFunc        // of api's connections, where they go to a socket of this machine; else nil
	local *adminSocket    // what dial connects to; nil: none

	nouns map[*cobra.Command]kind   // that commands, and those below them, are about
	lists map[string]*cobra.Command // the command that lists a noun
}

func (c *cli) now() time.Time { return c.deps.Now() }

// New returns the root command. Commands return errors instead of printing them; Execute prints.
func New(deps Deps) *cobra.Command {
	root, _ := newRoot(deps)
	return root
}

// Execute runs the command line and returns the exit code (see `wardroom help exit-codes`). Cancel ctx for
// an orderly stop.
func Execute(ctx context.Context, deps Deps, args []string) int {
	root, c := newRoot(deps)
	if args == nil {
		args = []string{} // cobra reads os.Args for nil
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if c.api != nil {
		c.api.Close()
	}
	if err == nil {
		err = c.out.err
	}
	if err == nil {
		return exitOK
	}
	var known *interruption
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, &known) {
		err = &interruption{cause: err}
	}
	c.printError(err)
	return exitCode(err)
}

func newRoot(deps Deps) (*cobra.Command, *cli) {
	deps.Stdin = cmp.Or[io.Reader](deps.Stdin, os.Stdin)
	deps.Stdout = cmp.Or[io.Writer](deps.Stdout, os.Stdout)
	deps.Stderr = cmp.Or[io.Writer](deps.Stderr, os.Stderr)
	if deps.Getenv == nil {
		deps.Getenv = os.Getenv
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.OpenBrowser == nil {
		deps.OpenBrowser = openBrowser
	}
	if deps.Sleep == nil {
		deps.Sleep = sleep
	}
	c := &cli{deps: deps, ctx: context.Background(), nouns: map[*cobra.Command]kind{}, lists: map[string]*cobra.Command{}}
	root := group(&cobra.Command{
		Use:   "wardroom",
		Short: "Orchestrate AI agents",
		Long: "Wardroom stores patterns, runs them on connected agents and keeps every outcome.\n\n" +
			"serve and dev run the server; the other commands talk to one over REST.",
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
	})
	root.SetIn(deps.Stdin)
	c.out = &outWriter{Writer: deps.Stdout}
	root.SetOut(c.out)
	root.SetErr(deps.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 { // the flag is one of a command that there is not
			return cmd.Args(cmd, words)
		}
		return usagef(cmd, "%s%s", err, nearFlags(cmd, err))
	})

	flags := root.PersistentFlags()
	flags.StringVar(&c.server, "server", "", "address of the server (default "+defaultServer+", or "+envServer+")")
	flags.StringVar(&c.context, "context", "", "name of the server to talk to, one of wardroom context list (or "+envContext+")")
	flags.StringVar(&c.token, "token", "", "credential; prefer "+envToken+", which other users of the machine cannot see")
	flags.StringVar(&c.tokenFile, "token-file", "", "file with the credential; - is stdin")
	flags.StringVarP(&c.output, "output", "o", "table", "table, wide, json, yaml, name or jsonpath=PATH")
	flags.BoolVar(&c.noColor, "no-color", false, "no colours (also NO_COLOR)")
	flags.DurationVar(&c.timeout, "timeout", defaultTimeout, "give up on a request after this long; 0 waits for ever")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return c.checkFlags(cmd) }

	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Run the server:"},
		&cobra.Group{ID: "work", Title: "Work with a server:"},
		&cobra.Group{ID: "machine", Title: "Look after the server of this machine:"},
		&cobra.Group{ID: "offline", Title: "Work with files:"},
	)
	add := func(id string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = id
			root.AddCommand(command)
		}
	}
	add("run", c.serveCommand(), c.devCommand(), c.edgeCommand())
	add("work", c.patternCommand(), c.runCommand(), c.executionCommand(), c.questionCommand(), c.batchCommand(), c.threadCommand(), c.workspaceCommand(),
		c.agentCommand(), c.runtimeCommand(), c.scheduleCommand(), c.triggerCommand(), c.webhookCommand(), c.pluginCommand(), c.secretCommand(), c.dataCommand(), c.complianceCommand(), c.authCommand(),
		c.auditCommand(), c.statusCommand(), c.overviewCommand(), c.inboxCommand(), c.openCommand(), c.openapiCommand(), c.eventsCommand(), c.logsCommand(),
		c.contextCommand(), c.loginCommand(), c.logoutCommand())
	add("machine", c.setupCommand(), c.doctorCommand(), c.reloadCommand(), c.logLevelCommand(), c.backupCommand(), c.debugCommand())
	add("offline", c.configCommand(), c.policyCommand(), c.storeCommand())
	root.AddCommand(c.versionCommand(), exitCodesTopic())
	root.SetHelpCommand(c.helpCommand(root))
	c.prepare(root, nil)
	c.addCompletion(root)
	// It fails only where a flag has its words twice.
	_ = root.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return outputs, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	return root, c
}

// helpCommand is cobra's, which takes any words; this one refuses those that are no command.
func (c *cli) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Help about any command",
		Args:  cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
			found, _, err := root.Find(args)
			if err != nil || found == nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var words []string
			for _, child := range found.Commands() {
				if (child.IsAvailableCommand() || child.IsAdditionalHelpTopicCommand()) && strings.HasPrefix(child.Name(), begin) {
					words = append(words, child.Name()+"\t"+child.Short)
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || found == nil {
				return usagef(cmd, "unknown command %q", strings.Join(args, " "))
			}
			if len(rest) > 0 && found.HasSubCommands() {
				return found.Args(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// outputs are the formats of --output; the last one goes on with a path.
var outputs = []string{"table", "wide", "json", "yaml", "name", outputPath}

const outputPath = "jsonpath="

func (c *cli) checkFlags(cmd *cobra.Command) error {
	c.ctx = cmd.Context()
	if path, ok := strings.CutPrefix(c.output, outputPath); ok {
		var err error
		if c.path, err = parseJSONPath(path); err != nil {
			return usagef(cmd, "--output jsonpath: %s", err)
		}
	} else if !slices.Contains(outputs, c.output) {
		return usagef(cmd, "--output must be %s or jsonpath=PATH, not %q", strings.Join(outputs[:len(outputs)-1], ", "), c.output)
	}
	if c.timeout < 0 {
		return usagef(cmd, "--timeout must not be negative")
	}
	if c.tokenFile != "" {
		if c.token != "" {
			return usagef(cmd, "--token and --token-file exclude each other")
		}
		var err error
		if c.token, err = c.readToken(c.tokenFile); err != nil {
			return err
		}
	}
	for _, pair := range strings.Fields(cmd.Annotations[annotationExclusive]) {
		a, b, _ := strings.Cut(pair, "|")
		if cmd.Flags().Changed(a) && cmd.Flags().Changed(b) {
			return usagef(cmd, "--%s and --%s exclude each other", a, b)
		}
	}
	return nil
}

// readToken reads a credential from a file.
func (c *cli) readToken(path string) (string, error) {
	data, err := c.readFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", &usageError{message: path + ": the file with the credential is empty"}
	}
	return token, nil
}

// annotationExclusive holds the pairs of flags that exclude each other.
const annotationExclusive = "wardroom.exclusive"

// exclusive declares that a flag excludes each of others, and each of them that flag. Cobra's own way ends in an error that cannot be
// told from one of the command's work.
func exclusive(cmd *cobra.Command, flag string, others ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	for _, other := range others {
		cmd.Annotations[annotationExclusive] += " " + flag + "|" + other
	}
}

// address returns the chosen server, the credential for it, and what its certificate is checked by; nil: the system's.
func (c *cli) address() (server, token string, trust *tls.Config, err error) {
	if c.context != "" && c.server != "" {
		return "", "", nil, &usageError{message: "--context and --server exclude each other"}
	}
	chosen, kept, err := c.chosenContext()
	if err != nil {
		return "", "", nil, err
	}
	if trust, err = chosen.tlsConfig(); err != nil {
		return "", "", nil, err
	}
	server = cmp.Or(chosen.Server, c.server, c.deps.Getenv(envServer), defaultServer)
	token = cmp.Or(c.token, strings.TrimSpace(c.deps.Getenv(envToken)), kept)
	if strings.ContainsFunc(token, unicode.IsControl) {
		return "", "", nil, &usageError{
			message: "the credential holds a line break or another control character",
			hint:    "it is one line: look at --token, --token-file, " + envToken + ", or the file of the context",
		}
	}
	return server, token, trust, nil
}

// userAgent returns the User-Agent header of the command line.
func userAgent() string { return "wardroom-cli/" + buildInfo().Version }

// client returns the client of the chosen server. Execute closes it.
func (c *cli) client() (*client.Client, error) {
	if c.api != nil {
		return c.api, nil
	}
	server, token, trust, err := c.address()
	if err != nil {
		return nil, err
	}
	options := client.Options{Token: token, TLS: trust, UserAgent: userAgent()}
	local, err := c.chosenSocket(server)
	if err != nil {
		return nil, err
	}
	if local != nil {
		server, options.Token, options.HTTPClient = "http://localhost", local.token, local.http
		c.dial, c.local = local.dial, local
	}
	api, err := client.New(server, options)
	if err != nil {
		return nil, &usageError{message: err.Error(), hint: "name the server with --server or " + envServer}
	}
	c.api = api
	return api, nil
}

// call runs one request against the server, bounded by --timeout.
func (c *cli) call(cmd *cobra.Command, fn func(ctx context.Context, api *client.Client) error) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	ctx, cancel := c.bounded(cmd.Context())
	defer cancel()
	return c.late(ctx, fn(ctx, api))
}

// bounded returns ctx with --timeout as its deadline.
func (c *cli) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.timeout)
}

// late says in words that --timeout ended a request.
func (c *cli) late(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &outcomeError{
			code:    exitTimeout,
			message: fmt.Sprintf("no answer within %s", c.timeout),
			hint:    "give the server longer with --timeout",
		}
	}
	return err
}

// nearFlags says which flags were meant by one that there is not, or "".
func nearFlags(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 { // one letter is near to everything
		return ""
	}
	// cobra finds near names among commands only.
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	near := names.SuggestionsFor(unknown.GetSpecifiedName())
	if len(near) == 0 {
		return ""
	}
	return "; did you mean --" + strings.Join(near, " or --") + "?"
}

// group makes a command that only holds others: alone it prints its help, with an unknown word it says so.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		cmd.SuggestionsMinimumDistance = 2
		message := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			message += "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return usagef(cmd, "%s", message)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}
