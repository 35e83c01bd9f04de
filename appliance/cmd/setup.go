package cmd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/configs"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/client"
)

// setupFile is the drop-in that setup writes, and nothing else does.
const setupFile = "10-setup.yaml"

// setup is one run of it.
type setup struct {
	c      *cli
	path   string // of the configuration
	target string // of the drop-in
	file   *setupTree
	first  bool            // there is no drop-in yet
	others *config.Config  // what all other files say
	now    *config.Config  // what is in effect
	found  []foundRuntime  // runtimes of this machine
	given  map[string]bool // flags that say something
	values map[string]string
}

// setupAnswer is what setup prints for scripts.
type setupAnswer struct {
	File     string         `json:"file"`
	Made     []string       `json:"made"` // files beside it
	Changed  bool           `json:"changed"`
	Runtimes []foundRuntime `json:"runtimes"`
	Next     []string       `json:"next"`
}

func (c *cli) setupCommand() *cobra.Command {
	var path string
	var yes, show, local, docker bool
	texts := map[string]*string{}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Write a configuration for the server of this machine",
		Long: "Write down where the server listens, its TLS, its first key, where agents run, where secrets come from and where the\n" +
			"audit trail goes, in conf.d/" + setupFile + " beside the configuration, which is made where there is none. It asks on a\n" +
			"terminal, unless --yes is given, and proposes what is in effect; what flags say is not asked. It may be run again:\n" +
			"what it does not ask for stays as it is, in this file too. What it writes is checked together with everything that\n" +
			"is there, and written only if it is valid.",
		Example: "  wardroom setup\n  wardroom setup --yes --listen :8443 --tls-generate wardroom.example.com,10.0.0.7",
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := map[string]string{}
			for flag, text := range texts {
				if cmd.Flags().Changed(flag) {
					given[flag] = *text
				}
			}
			for flag, on := range map[string]bool{"local": local, "docker": docker} {
				if cmd.Flags().Changed(flag) {
					given[flag] = map[bool]string{true: setupYes, false: setupNo}[on]
				}
			}
			in, ok := c.deps.Stdin.(*os.File)
			if yes || show || !ok || !isTerminal(in) {
				in = nil
			}
			return c.setup(cmd, path, given, in, show)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&path, "config", packagedConfig, "configuration file that the drop-in is for")
	for _, item := range setupItems {
		switch item.flag {
		case "local":
			flags.BoolVar(&local, item.flag, false, item.usage)
		case "docker":
			flags.BoolVar(&docker, item.flag, false, item.usage)
		default:
			texts[item.flag] = flags.String(item.flag, "", item.usage)
		}
	}
	flags.BoolVar(&yes, "yes", false, "do not ask")
	flags.BoolVar(&show, "print", false, "print what would be written, and write nothing")
	return cmd
}

// setup answers all items, by flags, at a terminal if there is one, or as things are, and writes them down.
func (c *cli) setup(cmd *cobra.Command, path string, given map[string]string, terminal *os.File, show bool) error {
	s, err := c.openSetup(cmd.Context(), path)
	if err != nil {
		return err
	}
	for flag, implies := range map[string]string{"tls-cert": tlsOwn, "tls-key": tlsOwn, "tls-generate": tlsGenerate} {
		if _, ok := given[flag]; !ok {
			continue
		}
		if said := given["tls"]; said != "" && said != implies {
			return usagef(cmd, "--tls-cert and --tls-key go together, and without --tls-generate")
		}
		given["tls"] = implies
	}
	for flag := range given {
		s.given[flag] = true
	}
	var a *asker
	if terminal != nil {
		if a, err = openAsker(terminal, c.deps.Stderr); err != nil {
			return err
		}
		defer a.close()
		if err := s.showFound(); err != nil {
			return err
		}
	}
	for i := range setupItems {
		item := &setupItems[i]
		value, said := given[item.flag]
		switch {
		case !item.wanted(s):
			if said {
				return usagef(cmd, "--%s has no use here: %s", item.flag, s.useless(item))
			}
		case said:
			if problem := s.take(item, value); problem != "" {
				return usagef(cmd, "--%s: %s", item.flag, problem)
			}
		case a != nil && item.question != "":
			if err := s.ask(cmd.Context(), a, item); err != nil {
				return err
			}
		default:
			if problem := s.take(item, s.proposal(item)); problem != "" {
				return usagef(cmd, "--%s is needed: %s", item.flag, problem)
			}
		}
	}
	return s.write(cmd, a, show)
}

// openSetup reads what is there.
func (c *cli) openSetup(ctx context.Context, path string) (*setup, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &setup{
		c: c, path: path, target: filepath.Join(filepath.Dir(path), config.DropInDir, setupFile),
		given: map[string]bool{}, values: map[string]string{},
	}
	text, err := os.ReadFile(s.target)
	if s.first = errors.Is(err, fs.ErrNotExist); err != nil && !s.first {
		return nil, fileError(err)
	}
	if s.file, err = readSetupTree(text); err != nil {
		return nil, &usageError{message: s.target + " is no YAML: " + err.Error(), hint: "mend it, or move it aside"}
	}
	if s.others, err = s.parse(nil, !s.first); err != nil { // without the drop-in they may lack what it says
		return nil, err
	}
	if s.now = s.others; !s.first {
		if s.now, err = s.parse(text, false); err != nil {
			return nil, err
		}
	}
	s.found = s.findRuntimes(ctx)
	return s, nil
}

// parse returns the configuration with a text as the drop-in of setup; nil is none. partial is set if it need not be all of a
// configuration.
func (s *setup) parse(text []byte, partial bool) (*config.Config, error) {
	var own *config.File
	if text != nil {
		own = &config.File{Name: s.target, Data: text}
	}
	files, err := configFiles(s.path, own)
	if err != nil {
		return nil, err
	}
	environment := serviceEnvironment(s.path)
	return config.Parse(files, config.Options{Partial: partial, Lookup: func(name string) (string, bool) {
		value, ok := environment(name)
		if !ok && (name == s.values["audit-secret"] || name == s.currentVariable()) {
			return "not set yet", true // setup says that it is to be set
		}
		return value, ok
	}})
}

func (s *setup) tlsFile(name string) string { return filepath.Join(filepath.Dir(s.path), "tls", name) }

func (s *setup) firstKey() string { return filepath.Join(s.now.Store.Path, adminKeyFile) }

// proposal returns the value of an item that no answer changes.
func (s *setup) proposal(item *setupItem) string {
	if item.current != nil {
		if value := item.current(s); value != "" {
			return value
		}
	}
	return item.fallback
}

// useless says why an item has no use.
func (s *setup) useless(item *setupItem) string {
	for _, chooser := range []string{"tls", "secrets", "vault-auth", "audit"} {
		if strings.HasPrefix(item.flag, strings.TrimSuffix(chooser, "-auth")) || chooser == "secrets" && strings.HasPrefix(item.flag, "aws") {
			return "--" + chooser + " is " + cmp.Or(s.values[chooser], setupNone)
		}
	}
	return "it is as it should be"
}

// take keeps a value for an item, and returns what is wrong with it.
func (s *setup) take(item *setupItem, value string) string {
	value = strings.TrimSpace(value)
	if word, ok := yesOrNo(value); ok && slices.Contains(item.choices, setupYes) {
		value = word
	}
	if len(item.choices) > 0 && !slices.Contains(item.choices, value) {
		return "answer one of " + strings.Join(item.choices, ", ")
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return "it holds a character that cannot be shown"
	}
	if len(item.choices) == 0 && (value == setupNone || value == setupLater && item.flag == "admin-key") {
		value = ""
	}
	optional := item.fallback == setupNone || item.fallback == setupLater
	if item.check != nil && (value != "" || !optional) {
		if problem := item.check(s, value); problem != "" {
			return problem
		}
	}
	before, had := s.values[item.flag]
	s.values[item.flag] = value
	problem := s.problemOf(item)
	if problem != "" {
		if s.values[item.flag] = before; !had {
			delete(s.values, item.flag)
		}
	}
	return problem
}

// problemOf returns what the configuration's own rules say against the answer to an item. What other questions settle is left out.
func (s *setup) problemOf(item *setupItem) string {
	if len(item.keys) == 0 || len(item.choices) > 0 {
		return ""
	}
	text, err := s.text()
	if err != nil {
		return err.Error()
	}
	_, err = s.parse(text, false)
	for _, problem := range config.Problems(err) {
		if slices.ContainsFunc(item.keys, func(key string) bool { return strings.HasPrefix(problem.Key+".", key+".") }) {
			return problem.Key + ": " + problem.Reason
		}
	}
	return ""
}

// text is the drop-in with the answers so far.
func (s *setup) text() ([]byte, error) {
	tree, err := readSetupTree(s.file.former)
	if err != nil {
		return nil, err
	}
	s.apply(tree)
	return tree.bytes()
}

// write checks everything once more, and puts it into place.
func (s *setup) write(cmd *cobra.Command, a *asker, show bool) error {
	c := s.c
	text, err := s.text()
	if err != nil {
		return err
	}
	cfg, err := s.parse(text, false)
	if err != nil {
		return err
	}
	if err := s.overruled(cfg); err != nil {
		return err
	}
	if !cfg.Security.Enabled() && !cfg.Server.LoopbackOnly() {
		return &usageError{
			message: "no credential would be needed on " + cfg.Server.Listen,
			hint:    "set security.authentication.apiKeys.enabled: true in " + s.path,
		}
	}
	var made *madeCertificate
	if s.values["tls"] == tlsGenerate && (s.given["tls-generate"] || s.renew()) {
		if made, err = makeCertificate(filepath.Dir(s.tlsFile("ca.crt")), splitNames(s.values["tls-generate"]), c.now()); err != nil {
			return err
		}
	}
	if show {
		_, err := c.deps.Stdout.Write(text)
		return err
	}
	if a != nil {
		if ok, err := s.confirm(cmd.Context(), a, text); err != nil || !ok {
			return cmp.Or(err, error(errUnanswered))
		}
	}
	answer := setupAnswer{File: s.target, Made: []string{}, Runtimes: s.found}
	group := groupOf(s.path)
	if !exists(s.path) {
		if err := writeConfig(s.path, configs.Packaged, group); err != nil {
			return err
		}
		answer.Made = append(answer.Made, s.path)
	}
	if made != nil {
		files, err := made.write(group)
		if err != nil {
			return err
		}
		answer.Made = append(answer.Made, files...)
	}
	before, _ := os.ReadFile(s.target) // that it cannot be read shows when it is written
	if answer.Changed = !bytes.Equal(before, text); answer.Changed {
		if err := writeConfig(s.target, text, group); err != nil {
			return err
		}
	}
	if file := s.values["admin-key"]; file != "" && !exists(file) {
		if err := s.makeKey(cmd, file); err != nil {
			return err
		}
		answer.Made = append(answer.Made, file)
	}
	answer.Next = s.next(cfg, made, group)
	return c.showValue(answer, func(out *screen) {
		if answer.Changed {
			out.line("wrote %s", clean(answer.File))
		} else {
			out.line("%s is as it should be", clean(answer.File))
		}
		for _, file := range answer.Made {
			out.line("wrote %s", clean(file))
		}
		for _, r := range s.found {
			out.line("%s", clean(r.String()))
		}
		out.line("next:")
		for _, next := range answer.Next {
			out.line("  %s", clean(next))
		}
	})
}

// overruled refuses answers that a file which is read later would undo.
func (s *setup) overruled(cfg *config.Config) error {
	for i := range setupItems {
		item := &setupItems[i]
		value, answered := s.values[item.flag]
		if !answered || cmp.Or(value, setupNone) == cmp.Or(s.proposal(item), setupNone) {
			continue
		}
		for _, key := range item.keys {
			// What is set in two files has its place in the one that is read later.
			at := cfg.Origin(key)
			if filepath.Base(at) > setupFile && filepath.Dir(at) == filepath.Dir(s.target) {
				return &usageError{message: at + " sets " + key + " too, and is read later than " + setupFile, hint: "change it there, or take it out there"}
			}
		}
	}
	return nil
}

// renew reports whether the certificate that setup made is to be made anew: for other names, since its end is near, or since
// the key beside it is another's, as a setup that ended between the two files leaves it.
func (s *setup) renew() bool {
	names, wanted := s.madeFor(), splitNames(s.values["tls-generate"])
	slices.Sort(names)
	slices.Sort(wanted)
	if !slices.Equal(names, wanted) {
		return true
	}
	text, err := os.ReadFile(s.tlsFile("server.crt"))
	if err != nil {
		return true
	}
	leaf, err := x509.ParseCertificate(decodePEM(text))
	if err != nil || leaf.NotAfter.Sub(s.c.now()) < certificateLife/4 {
		return true
	}
	_, err = tls.LoadX509KeyPair(s.tlsFile("server.crt"), s.tlsFile("server.key"))
	return err != nil && !errors.Is(err, fs.ErrPermission) // who may not read the key may not replace it either
}

// makeKey makes a key with all rights and keeps it in a file that only its owner reads. No other place has it.
func (s *setup) makeKey(cmd *cobra.Command, file string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fileError(err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	keep := func(key string) error {
		_, err := f.WriteString(key + "\n")
		return errors.Join(err, f.Sync())
	}
	if owner := ownerAttributes(s.firstKey()); owner != nil {
		return s.makeKeyAs(cmd.Context(), owner, keep)
	}
	spec := core.APIKeySpec{Name: "admin", Scopes: []string{core.ScopeAdmin}, Never: true}
	return s.c.keys(cmd, &authFlags{config: s.path}, func(ctx context.Context, keys core.KeyService) error {
		made, err := keys.CreateKey(ctx, spec)
		if err != nil {
			return err
		}
		return keep(made.Key)
	}, func(ctx context.Context, api *client.Client) error {
		made, err := api.CreateKey(ctx, client.APIKeySpec{Name: spec.Name, Scopes: spec.Scopes, Never: true}, "")
		if err != nil {
			return err
		}
		return keep(made.Key)
	})
}

// makeKeyAs has the owner of the store make the key: what root would make there is not the service's.
func (s *setup) makeKeyAs(ctx context.Context, owner *syscall.SysProcAttr, keep func(key string) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "auth", "create-key", "--config", s.path, "--name", "admin", "--scopes", core.ScopeAdmin, "--expires", "never", "-o", "jsonpath=.key")
	cmd.SysProcAttr, cmd.Dir = owner, "/"
	var said bytes.Buffer
	cmd.Stderr = &said
	key, err := cmd.Output()
	if err != nil {
		return &usageError{message: "the key was not made: " + cmp.Or(strings.TrimPrefix(strings.TrimSpace(said.String()), "error: "), err.Error()), hint: "wardroom setup again, or start the server, which makes one"}
	}
	return keep(strings.TrimSpace(string(key)))
}

// next is what to type after setup.
func (s *setup) next(cfg *config.Config, made *madeCertificate, group int) []string {
	var next []string
	for _, flag := range []string{"tls-cert", "tls-key", "kubernetes", "vault-file"} {
		if file := s.values[flag]; file != "" && !groupReads(file, group) {
			next = append(next, "the service cannot read "+file+": chgrp wardroom "+file+" && chmod 0640 "+file+", in a directory that it may enter")
		}
	}
	if variable := s.values["audit-secret"]; variable != "" {
		if _, ok := serviceEnvironment(s.path)(variable); !ok {
			where := "the environment of the server"
			if s.path == packagedConfig {
				where = packagedEnvironment + " (chown root:wardroom, chmod 0640)"
			}
			next = append(next, "put "+variable+"=... into "+where)
		}
	}
	for _, plugin := range s.missingPlugins(cfg) {
		next = append(next, "the plugin "+plugin+" is not installed: install the package "+packageOf(plugin))
	}
	switch {
	case s.path != packagedConfig:
		next = append(next, "wardroom serve --config "+s.path)
	default:
		next = append(next, "systemctl enable --now wardroom   # or, if it runs: systemctl restart wardroom")
	}
	switch file := s.values["admin-key"]; {
	case file != "":
		next = append(next, "a key with all rights is in "+file)
	case cfg.Security.Authentication.APIKeys.Enabled:
		next = append(next, "the first key is in "+filepath.Join(cfg.Store.Path, adminKeyFile)+" once it started; on this machine root needs none")
	}
	if made != nil {
		next = append(next, "clients trust "+made.path("ca.crt")+": wardroom context add NAME --server "+s.address(cfg, made.names[0])+" --ca ca.crt")
	}
	return append(next, "wardroom doctor --config "+s.path)
}

// address is where clients reach the server under a name.
func (s *setup) address(cfg *config.Config, name string) string {
	if cfg.Server.BaseURL != "" {
		return cfg.Server.BaseURL
	}
	if _, port, err := net.SplitHostPort(cfg.Server.Listen); err == nil && port != "443" {
		name = net.JoinHostPort(name, port)
	}
	return "https://" + name
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
	dropIns, err := config.DropIns(path)
	if err != nil {
		return nil, err
	}
	dropIns = slices.DeleteFunc(dropIns, func(f config.File) bool { return filepath.Base(f.Name) == setupFile })
	if own != nil {
		dropIns = append(dropIns, *own)
	}
	sort.Slice(dropIns, func(i, j int) bool { return dropIns[i].Name < dropIns[j].Name })
	return append([]config.File{{Name: path, Data: main}}, dropIns...), nil
}

// writeConfig replaces a file that the group of the service may read.
func writeConfig(path string, data []byte, group int) error {
	if dir := filepath.Dir(path); !exists(dir) {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fileError(err)
		}
		if err := os.Chmod(dir, 0o750); err != nil { // whatever umask root has
			return err
		}
		if group >= 0 && os.Geteuid() == 0 { // the service looks into it
			if err := os.Chown(dir, -1, group); err != nil {
				return err
			}
		}
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
