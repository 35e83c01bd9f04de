package cmd

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

// version, commit and date are set by the linker:
//
//	-ldflags "-X github.com/wardroom/wardroom/appliance/cmd.version=1.2.3"
var (
	version = ""
	commit  = ""
	date    = ""
)

// build says what this binary is.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// buildInfo takes what the linker set, and for the rest what the Go toolchain recorded.
func buildInfo() build {
	info := build{Version: version, Commit: commit, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	recorded, ok := debug.ReadBuildInfo()
	if ok {
		if info.Version == "" && recorded.Main.Version != "(devel)" {
			info.Version = recorded.Main.Version
		}
		for _, setting := range recorded.Settings {
			switch {
			case setting.Key == "vcs.revision" && info.Commit == "":
				info.Commit = setting.Value
			case setting.Key == "vcs.time" && info.Date == "":
				info.Date = setting.Value
			}
		}
	}
	info.Version = cmp.Or(info.Version, "devel")
	return info
}

// serverVersionWait bounds the question for the server's version: the command is about this binary first.
const serverVersionWait = 2 * time.Second

func (c *cli) versionCommand() *cobra.Command {
	var clientOnly bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this program and of the server",
		Long: "Show the version of this program and, if it can be reached within two seconds, of the server.\n" +
			"A server that cannot be reached is no failure.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.showVersion(cmd.Context(), clientOnly)
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "only this program, without asking the server")
	return cmd
}

func (c *cli) showVersion(ctx context.Context, clientOnly bool) error {
	type server struct {
		Address string `json:"address"`
		Version string `json:"version,omitempty"`
		Error   string `json:"error,omitempty"`
	}
	answer := struct {
		Client build   `json:"client"`
		Server *server `json:"server,omitempty"`
	}{Client: buildInfo()}
	if !clientOnly {
		api, err := c.client()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, serverVersionWait)
		defer cancel()
		answer.Server = &server{Address: api.BaseURL()}
		if answer.Server.Version, err = api.Version(ctx); err != nil {
			answer.Server.Error = err.Error()
		}
	}
	return c.showValue(answer, func(s *screen) {
		about := ""
		switch {
		case answer.Server == nil:
		case answer.Server.Error != "":
			about = "not known: " + answer.Server.Error
		default:
			about = answer.Server.Version + " at " + answer.Server.Address
		}
		s.fields("wardroom", answer.Client.Version, "commit", answer.Client.Commit, "built", answer.Client.Date,
			"go", answer.Client.Go+" "+answer.Client.OS+"/"+answer.Client.Arch, "server", about)
	})
}
