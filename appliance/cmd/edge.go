package cmd

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/edge"
	runtimeclient "github.com/wardroom/wardroom/sdk/runtime/client"
)

// envRuntimeToken names the credential of a runtime server.
const envRuntimeToken = "WARDROOM_RUNTIME_TOKEN"

// edgeFlags are the flags of edge.
type edgeFlags struct {
	opts    edge.Options
	runtime string
	token   string
	files   agent.TLSFiles
}

func (c *cli) edgeCommand() *cobra.Command {
	var flags edgeFlags
	cmd := &cobra.Command{
		Use:   "edge --root DIR",
		Short: "Host threads here for a server that cannot reach this machine",
		Long: "Host threads for a server elsewhere: this command connects out to it as an agent, and runs the threads with the\n" +
			"runtime server beside it, until SIGTERM or SIGINT. The threads go on without it, and it finds them again when it\n" +
			"is started with the same --root. Threads get there with `wardroom thread spawn --runtime connected`, or --agent.",
		Example: "  PORT=3100 /usr/lib/wardroom/plugins/runtime-local &\n" +
			"  wardroom edge --server https://wardroom.example.com --root /var/lib/wardroom-edge --max 4",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEdge(cmd, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.opts.Root, "root", "", "folder of its state and of the threads' workspaces")
	f.StringVar(&flags.opts.Name, "name", "", "what people see in the list of agents (default the name of this machine)")
	f.StringVar(&flags.opts.Region, "region", "", "free text, shown in the list of agents")
	f.StringVar(&flags.runtime, "runtime", "http://127.0.0.1:3100", "address of the runtime server; its agents must share this machine's files")
	f.StringVar(&flags.token, "runtime-token", "", "credential of the runtime server; prefer "+envRuntimeToken)
	f.StringVar(&flags.files.Cert, "cert", "", "file with the certificate to show the server, where it asks agents for one (PEM)")
	f.StringVar(&flags.files.Key, "key", "", "file with the key of --cert (PEM)")
	f.StringVar(&flags.files.CA, "ca", "", "file with the authorities that the server's certificate must be from (PEM; default those of the context, or the system's)")
	f.StringSliceVar(&flags.opts.Types, "types", nil, "agent types to offer, comma-separated (default all of the runtime)")
	f.IntVar(&flags.opts.Max, "max", edge.DefaultMax, "threads at the same time")
	f.BoolVar(&flags.opts.AllowFile, "allow-file", false, "take repositories that are folders of this machine: everyone who may start threads can name them")
	return cmd
}

func (c *cli) runEdge(cmd *cobra.Command, flags edgeFlags) error {
	opts := flags.opts
	if opts.Root == "" {
		return usagef(cmd, "--root is missing")
	}
	if opts.Max < 1 {
		return usagef(cmd, "--max must be at least 1")
	}
	var err error
	if opts.Root, err = filepath.Abs(opts.Root); err != nil {
		return fmt.Errorf("--root: %w", err)
	}
	if opts.Name == "" {
		if opts.Name, err = os.Hostname(); err != nil {
			return &usageError{message: "this machine has no name", hint: "give one with --name"}
		}
	}
	if flags.token == "" {
		flags.token = c.deps.Getenv(envRuntimeToken)
	}
	client, err := runtimeclient.New(runtimeclient.Options{URL: flags.runtime, Token: flags.token})
	if err != nil {
		return usagef(cmd, "--runtime: %s", err)
	}
	defer client.CloseIdle()
	opts.Runtime = client
	opts.RuntimeHint = fmt.Sprintf("--runtime is %s: is a runtime server there? PORT=3100 /usr/lib/wardroom/plugins/runtime-local starts one where it is looked for by default", flags.runtime)
	if opts.URL, opts.Token, opts.TLS, err = c.address(); err != nil {
		return err
	}
	own, err := flags.files.Config()
	if err != nil {
		return usagef(cmd, "%s", err)
	}
	if own != nil {
		if own.RootCAs == nil && opts.TLS != nil {
			own.RootCAs = opts.TLS.RootCAs
		}
		opts.TLS = own
	}
	opts.Logger = slog.New(slog.NewTextHandler(c.deps.Stderr, nil))
	e, err := edge.New(opts)
	if err != nil {
		return usagef(cmd, "%s", err)
	}
	return edgeError(e.Run(cmd.Context()))
}

// edgeError gives a refusal of the server its exit code.
func edgeError(err error) error {
	var refused *agent.ConnectError
	if !errors.As(err, &refused) {
		return err
	}
	code := core.Code(refused.Code)
	switch refused.Status { // of an answer whose body was not read
	case http.StatusUnauthorized:
		code = core.CodeUnauthorized
	case http.StatusForbidden:
		code = core.CodeForbidden
	}
	hint := ""
	if code == core.CodeUnauthorized {
		hint = "give a credential for agents with " + envToken + " or --token"
	}
	return &outcomeError{code: exitCodeOf(code), message: refused.Error(), hint: hint}
}
