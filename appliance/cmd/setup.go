package cmd

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/configs"
	"github.com/wardroom/wardroom/core/config"
)

// setupFile is the drop-in that setup writes, and nothing else does.
const setupFile = "10-setup.yaml"

// setupChoice is what setup writes down.
type setupChoice struct {
	listen      string
	cert, key   string   // of TLS; empty: none
	tlsNames    []string // for which a certificate is made
	baseURL     string
	runtime     bool // the local runtime is taken into use
	haveRuntime bool // a package takes it into use already
}

// setupAnswer is what setup prints for scripts.
type setupAnswer struct {
	File    string   `json:"file"`
	Made    []string `json:"made"` // files beside it
	Changed bool     `json:"changed"`
	Next    []string `json:"next"`
}

func (c *cli) setupCommand() *cobra.Command {
	var path string
	var choice setupChoice
	var yes, show, local bool
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Write a configuration for the server of this machine",
		Long: "Write down where the server listens, its TLS and whether agents run on this machine, in conf.d/" + setupFile + "\n" +
			"beside the configuration, which is made where there is none. It asks on a terminal, unless --yes is given; what flags\n" +
			"say is not asked. It may be run again: the file is replaced, and nothing else of the configuration is changed. What\n" +
			"it writes is checked together with everything that is there, and written only if it is valid.",
		Example: "  wardroom setup\n  wardroom setup --yes --listen :8443 --tls-generate wardroom.example.com,10.0.0.7",
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := cmd.Flags()
			if (choice.cert == "") != (choice.key == "") || choice.cert != "" && len(choice.tlsNames) > 0 {
				return usagef(cmd, "--tls-cert and --tls-key go together, and without --tls-generate")
			}
			choice.haveRuntime = otherRuntime(path)
			choice.runtime = local || !flags.Changed("local") && !choice.haveRuntime && installedPlugin(path, "runtime-local")
			if !yes && !show && isTerminal(c.deps.Stdin) {
				if err := c.askSetup(flags.Changed, &choice); err != nil {
					return err
				}
			}
			return c.setup(path, choice, show)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&path, "config", packagedConfig, "configuration file that the drop-in is for")
	flags.StringVar(&choice.listen, "listen", "127.0.0.1:8080", "address and port; others than this machine reach it only with another address")
	flags.StringVar(&choice.cert, "tls-cert", "", "file with a certificate, in PEM, for TLS")
	flags.StringVar(&choice.key, "tls-key", "", "file with its private key, in PEM")
	flags.StringSliceVar(&choice.tlsNames, "tls-generate", nil, "make an authority of this machine and a certificate by it, for these names and addresses")
	flags.StringVar(&choice.baseURL, "base-url", "", "address under which clients reach the server, if that is another")
	flags.BoolVar(&local, "local", false, "run agents on this machine; the default is yes where the plugin is installed")
	flags.BoolVar(&yes, "yes", false, "do not ask")
	flags.BoolVar(&show, "print", false, "print what would be written, and write nothing")
	return cmd
}

// otherRuntime reports whether something else than setup configures the local runtime already.
func otherRuntime(path string) bool {
	files, err := configFiles(path, nil)
	if err != nil {
		return false
	}
	cfg, err := config.Parse(files, config.Options{})
	return err == nil && cfg.Runtimes["local"] != nil
}

// installedPlugin reports whether a plugin lies where the server looks for them.
func installedPlugin(path, name string) bool {
	if _, err := os.Stat(path); err != nil {
		path = ""
	}
	dir, _, err := pluginDir("", path)
	return err == nil && exists(filepath.Join(dir, name))
}

// askSetup asks what no flag said.
func (c *cli) askSetup(given func(flag string) bool, choice *setupChoice) error {
	in := bufio.NewReader(c.deps.Stdin)
	ask := func(question, proposed string) (string, error) {
		if _, err := fmt.Fprintf(c.deps.Stderr, "%s [%s]: ", question, proposed); err != nil {
			return "", err
		}
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		return cmp.Or(strings.TrimSpace(line), proposed), nil
	}
	var err error
	if !given("listen") {
		if choice.listen, err = ask("Address to listen on (127.0.0.1:8080 for this machine alone, :8443 for all)", choice.listen); err != nil {
			return err
		}
	}
	if !given("tls-cert") && !given("tls-generate") {
		names, err := ask("Names and addresses that clients use, for a certificate that is made now; none: no TLS", "none")
		if err != nil {
			return err
		}
		if names != "none" {
			choice.tlsNames = strings.Split(strings.ReplaceAll(names, " ", ""), ",")
		}
	}
	if !given("local") && !choice.haveRuntime && choice.runtime {
		answer, err := ask("Run agents on this machine? (yes or no)", "yes")
		if err != nil {
			return err
		}
		choice.runtime = strings.HasPrefix(strings.ToLower(answer), "y")
	}
	return nil
}

// setup writes the drop-in, and what it needs.
func (c *cli) setup(path string, choice setupChoice, show bool) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	var tls *madeCertificate
	if len(choice.tlsNames) > 0 {
		choice.cert, choice.key = filepath.Join(dir, "tls", "server.crt"), filepath.Join(dir, "tls", "server.key")
		if tls, err = makeCertificate(filepath.Join(dir, "tls"), choice.tlsNames, c.now()); err != nil {
			return err
		}
	}
	text := choice.text()
	target := filepath.Join(dir, config.DropInDir, setupFile)
	files, err := configFiles(path, &config.File{Name: target, Data: text})
	if err != nil {
		return err
	}
	cfg, err := config.Parse(files, config.Options{})
	if err != nil {
		return err
	}
	if !cfg.Security.Enabled() && !cfg.Server.LoopbackOnly() {
		return &usageError{message: "nobody would need a credential on " + choice.listen, hint: "set security.authentication.apiKeys.enabled: true in " + path}
	}
	if show {
		_, err := c.deps.Stdout.Write(text)
		return err
	}
	answer := setupAnswer{File: target, Made: []string{}}
	group := groupOf(path)
	if !exists(path) {
		if err := writeConfig(path, configs.Packaged, group); err != nil {
			return err
		}
		answer.Made = append(answer.Made, path)
	}
	if tls != nil {
		made, err := tls.write(group)
		if err != nil {
			return err
		}
		answer.Made = append(answer.Made, made...)
	}
	before, _ := os.ReadFile(target) // that it cannot be read shows when it is written
	if answer.Changed = !bytes.Equal(before, text); answer.Changed {
		if err := writeConfig(target, text, group); err != nil {
			return err
		}
	}
	answer.Next = setupNext(cfg, path, tls)
	return c.showValue(answer, func(s *screen) {
		if answer.Changed {
			s.line("wrote %s", clean(target))
		} else {
			s.line("%s is as it should be", clean(target))
		}
		for _, made := range answer.Made {
			s.line("wrote %s", clean(made))
		}
		s.line("next:")
		for _, next := range answer.Next {
			s.line("  %s", clean(next))
		}
	})
}

// setupNext is what to type after setup.
func setupNext(cfg *config.Config, path string, tls *madeCertificate) []string {
	var next []string
	switch {
	case path != packagedConfig:
		next = append(next, "wardroom serve --config "+path)
	default:
		next = append(next, "systemctl enable --now wardroom   # or, if it runs: systemctl restart wardroom")
	}
	if cfg.Security.Authentication.APIKeys.Enabled {
		next = append(next, "the first key is in "+filepath.Join(cfg.Store.Path, adminKeyFile)+" once it started; on this machine root needs none")
	}
	if tls != nil {
		next = append(next, "clients trust "+tls.path("ca.crt")+": wardroom context add NAME --server https://"+tls.names[0]+" --ca ca.crt")
	}
	return append(next, "wardroom doctor --config "+path)
}

// text is the drop-in.
func (s *setupChoice) text() []byte {
	var b bytes.Buffer
	b.WriteString("# Written by `wardroom setup`, which replaces this file when it is run again. Settings of your own belong into another file\n" +
		"# of this directory; those whose names sort later win.\n\n")
	fmt.Fprintf(&b, "server:\n  # Where the server listens.\n  listen: %q\n", s.listen)
	if s.baseURL != "" {
		fmt.Fprintf(&b, "  # Under which address clients reach it.\n  baseUrl: %q\n", s.baseURL)
	}
	if s.cert != "" {
		fmt.Fprintf(&b, "\nsecurity:\n  mtls:\n    # TLS. A renewed certificate in these files is taken up by itself.\n    enabled: true\n"+
			"    serverCert: %q\n    serverKey: %q\n    # Clients show API keys and no certificates.\n    clientAuth: none\n", s.cert, s.key)
	}
	if s.runtime {
		b.WriteString("\nruntimes:\n  # Agents on this machine.\n  local:\n    plugin: runtime-local\n")
	}
	return b.Bytes()
}

// configFiles reads a configuration and its drop-ins as the server would, with one drop-in in place of the one of its name;
// nil leaves that of setup out. A configuration that is not there is the one that packages have.
func configFiles(path string, own *config.File) ([]config.File, error) {
	main, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		main, err = configs.Packaged, nil
	}
	if err != nil {
		return nil, fileError(err)
	}
	var dropIns []config.File
	if own != nil {
		dropIns = append(dropIns, *own)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), config.DropInDir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if filepath.Base(name) == setupFile || strings.HasPrefix(filepath.Base(name), ".") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fileError(err)
		}
		dropIns = append(dropIns, config.File{Name: name, Data: data})
	}
	sort.Slice(dropIns, func(i, j int) bool { return dropIns[i].Name < dropIns[j].Name })
	return append([]config.File{{Name: path, Data: main}}, dropIns...), nil
}

// writeConfig replaces a file that the group of the service may read.
func writeConfig(path string, data []byte, group int) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fileError(err)
	}
	return writeWhole(path, func(w io.Writer) error {
		f, ok := w.(*os.File)
		if !ok {
			return errors.New("is written to a file only")
		}
		_, err := f.Write(data)
		if err == nil {
			err = f.Chmod(0o640)
		}
		if err == nil && group >= 0 && os.Geteuid() == 0 {
			err = f.Chown(-1, group)
		}
		return err
	})
}
