package cmd

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func (c *cli) devCommand() *cobra.Command {
	opts := RunOptions{Dev: true}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a server to try things out: loopback, no authentication",
		Long: "Run a server for development until SIGTERM or SIGINT: loopback only, no authentication, no\n" +
			"configuration file. Without --data-dir the data lies in a temporary folder that is removed at the end.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLoopback(cmd, opts.Listen); err != nil {
				return err
			}
			return c.runDev(cmd, opts)
		},
	}
	cmd.Flags().StringVar(&opts.Listen, "listen", "127.0.0.1:8080", "loopback address and port; port 0 takes a free one")
	cmd.Flags().StringVar(&opts.DataDir, "data-dir", "", "folder to keep the data in (default a temporary one)")
	return cmd
}

func (c *cli) runDev(cmd *cobra.Command, opts RunOptions) (err error) {
	kept := "kept at the end"
	if opts.DataDir == "" {
		dir, err := os.MkdirTemp("", "wardroom-dev-")
		if err != nil {
			return fmt.Errorf("make a temporary data folder: %w", err)
		}
		defer os.RemoveAll(dir)
		opts.DataDir, opts.Temporary, kept = dir, true, "temporary, removed at the end together with its agents"
	}
	if opts.DataDir, err = filepath.Abs(opts.DataDir); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	opts.Ready = func(addr string) {
		s := &screen{paint: c.painter(c.deps.Stdout)}
		s.line("wardroom %s, development server", buildInfo().Version)
		s.fields("  address", "http://"+addr, "  console", "open http://"+addr+"/ in a browser", "  data", opts.DataDir+" ("+kept+")", "  security", "no authentication")
		s.line("ready: http://%s", addr)
		_, _ = s.WriteTo(c.deps.Stdout) // a closed stdout is no reason to end the server
	}
	return c.start(cmd.Context(), opts)
}

// checkLoopback refuses addresses that others could reach: dev has no authentication.
func checkLoopback(cmd *cobra.Command, listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return usagef(cmd, "--listen must be an address and a port such as 127.0.0.1:8080, not %q", listen)
	}
	if host == "localhost" {
		return nil
	}
	if addr, err := netip.ParseAddr(host); err != nil || !addr.Unmap().IsLoopback() {
		return usagef(cmd, "--listen must be a loopback address: the development server has no authentication; "+
			"use `wardroom serve` for others")
	}
	return nil
}
