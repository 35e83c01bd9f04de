package cmd

import (
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// openCommand shows where the console is, and opens it where there is a screen.
func (c *cli) openCommand() *cobra.Command {
	var printed bool
	cmd := &cobra.Command{
		Use:   "open [ID]",
		Short: "Open the web console, at the screen of ID if one is given",
		Long: "Open the web console in a browser; with an ID at the screen on which that is shown: an execution, task, message,\n" +
			"thread, agent, question, delivery, decision, experience, event or anything else of the product. What has no screen\n" +
			"says so there. Where no browser can be started, or with --print, the address is printed.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := c.consoleAddress(args)
			if err != nil {
				return err
			}
			if !printed && c.browse(address) {
				fmt.Fprintf(c.deps.Stderr, "opened %s\n", address)
				return nil
			}
			return c.showValue(map[string]any{"url": address}, func(s *screen) { s.line("%s", address) })
		},
	}
	cmd.Flags().BoolVar(&printed, "print", false, "print the address and open nothing")
	return cmd
}

// consoleAddress is where the console shows an id, or its first screen.
func (c *cli) consoleAddress(args []string) (string, error) {
	api, err := c.client()
	if err != nil {
		return "", err
	}
	address := strings.TrimRight(api.BaseURL(), "/") + "/"
	if len(args) > 0 {
		address += url.PathEscape(args[0])
	}
	return address, nil
}

// browse starts a browser, and reports whether that could be tried.
func (c *cli) browse(address string) bool {
	name := "xdg-open"
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "linux":
		if c.deps.Getenv("DISPLAY") == "" && c.deps.Getenv("WAYLAND_DISPLAY") == "" {
			return false
		}
	default:
		return false
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return false
	}
	return exec.Command(path, address).Run() == nil
}
