package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
)

func (c *cli) serveCommand() *cobra.Command {
	var opts RunOptions
	cmd := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Run the server with a configuration file",
		Long: "Run the server until SIGTERM or SIGINT. SIGHUP reloads the configuration.\n\n" +
			"While no security is configured the server binds loopback addresses only; --insecure lifts that,\n" +
			"and then everyone who reaches the address may do everything.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.ConfigPath == "" {
				return usagef(cmd, "--config is missing")
			}
			opts.Ready = func(addr string) { fmt.Fprintf(c.deps.Stdout, "ready: http://%s\n", addr) }
			return c.start(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.ConfigPath, "config", "", "configuration file; drop-ins in conf.d beside it are read too")
	cmd.Flags().BoolVar(&opts.Insecure, "insecure", false, "allow other addresses than loopback without security")
	return cmd
}

// start runs the product. A signal while it still starts is an orderly end like a later one.
func (c *cli) start(ctx context.Context, opts RunOptions) error {
	opts.Stderr = c.deps.Stderr
	info := buildInfo()
	opts.Version, opts.Commit = info.Version, info.Commit
	err := c.deps.Run(ctx, opts)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return startError(err)
}

// startError marks a refused or missing configuration, so that a service manager does not start it again and again.
func startError(err error) error {
	var e *core.Error
	if errors.As(err, &e) && (e.Code == core.CodeValidation || e.Code == core.CodeNotFound) {
		return &configError{cause: err}
	}
	return err
}
