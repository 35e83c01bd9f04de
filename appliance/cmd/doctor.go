package cmd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/sdk/wire"
)

// packagedConfig is where the packages have the configuration.
const packagedConfig = "/etc/wardroom/wardroom.yaml"

// backupsDir is where the packages' timer puts backups, and backupsAge how old the newest may be.
const (
	backupsDir = "/var/backups/wardroom"
	backupsAge = 48 * time.Hour
)

// probeTime bounds the asking of one program for its version.
const probeTime = 5 * time.Second

// finding is what doctor says of one thing.
type finding struct {
	Check   string `json:"check"`
	Status  string `json:"status"` // ok, degraded (works with a loss) or failed
	Message string `json:"message,omitempty"`
	Next    string `json:"next,omitempty"` // what to type, or do, about it
}

// doctor gathers findings.
type doctor struct {
	c        *cli
	path     string // of the configuration
	cfg      *config.Config
	findings []finding
}

func (d *doctor) add(check, status, message, next string) {
	d.findings = append(d.findings, finding{check, status, message, next})
}

func (c *cli) doctorCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything about the server of this machine, and say what to do",
		Long: "Check the configuration, files and their modes, the disk, plugins, tools, certificates, the server itself and its\n" +
			"backups, and say for each what to type next. Nothing is changed. The exit code is 1 if something does not work.\n" +
			"It sees everything as root or the user of the service only.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{c: c, path: path}
			d.run(cmd.Context())
			bad := slices.ContainsFunc(d.findings, func(f finding) bool { return f.Status == "failed" })
			err := c.showValue(struct {
				Healthy bool      `json:"healthy"`
				Checks  []finding `json:"checks"`
			}{!bad, d.findings}, func(s *screen) {
				cells := make([][]cell, 0, len(d.findings))
				for _, f := range d.findings {
					cells = append(cells, []cell{{text: f.Check}, status(f.Status), {text: clean(f.Message)}, {text: clean(f.Next)}})
				}
				s.grid([]string{"CHECK", "STATUS", "MESSAGE", "NEXT"}, []int{0, 0, uncut, uncut}, cells)
			})
			if err == nil && bad {
				return &outcomeError{code: exitFailed, message: "something does not work"}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&path, "config", packagedConfig, "configuration file of the server")
	return cmd
}

// run makes all checks. What needs a configuration is left out where there is none.
func (d *doctor) run(ctx context.Context) {
	d.configuration()
	if d.cfg != nil {
		d.security()
		d.certificates()
		d.data()
		d.disk()
		d.plugins()
	}
	d.tools(ctx)
	d.server(ctx)
	d.backups(backupsDir)
}

func (d *doctor) configuration() {
	loaded, err := loadConfig(d.path)
	if err != nil {
		message, problems := describe(err)
		if len(problems) > 0 {
			message += ": " + strings.Join(problems, "; ")
		}
		d.add("configuration", "failed", message, "wardroom config validate "+d.path+", or: wardroom setup")
		return
	}
	d.cfg = loaded
	for _, file := range loaded.Files() {
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o007 != 0 && openToAll(filepath.Dir(file)) {
			d.add("configuration", "degraded", file+" can be read by everyone on this machine", "chmod o= "+file)
			return
		}
	}
	d.add("configuration", "ok", strings.Join(loaded.Files(), ", "), "")
}

// openToAll reports whether everyone on this machine may go down to a directory: what lies in another is for those who may.
func openToAll(dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return true
	}
	for {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

func (d *doctor) security() {
	switch c := d.cfg; {
	case !c.Security.Enabled() && c.Server.LoopbackOnly():
		d.add("security", "degraded", "nobody needs a credential; the address is a loopback one", "set security.authentication.apiKeys.enabled: true in "+d.path)
	case !c.Security.Enabled():
		d.add("security", "failed", "nobody needs a credential, and others reach the address", "set security.authentication.apiKeys.enabled: true in "+d.path)
	case !c.Server.LoopbackOnly() && !c.Security.MTLS.Enabled:
		d.add("security", "degraded", c.Server.Listen+" is reached without TLS: keys travel in clear", "wardroom setup --tls-generate NAME, or put a proxy with TLS before it")
	default:
		d.add("security", "ok", "credentials are needed on "+c.Server.Listen, "")
	}
}

func (d *doctor) certificates() {
	c := d.cfg.Security.MTLS
	if !c.Enabled {
		return
	}
	if c.ServerCertSecret != "" { // the server reads it; a check below reports what is wrong with it
		d.add("certificate", "ok", "it comes from the secret "+c.ServerCertSecret, "")
		return
	}
	data, err := os.ReadFile(c.ServerCert)
	if err != nil {
		d.add("certificate", "failed", "security.mtls.serverCert cannot be read: "+lastCause(err), "name another file, or run this as root")
		return
	}
	block, _ := pem.Decode(data)
	if block == nil {
		d.add("certificate", "failed", c.ServerCert+" holds no certificate in PEM", "name another file in security.mtls.serverCert")
		return
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		d.add("certificate", "failed", c.ServerCert+" cannot be read as a certificate", "name another file in security.mtls.serverCert")
		return
	}
	ends := leaf.NotAfter.UTC().Format(time.DateOnly)
	_, err = tls.LoadX509KeyPair(c.ServerCert, c.ServerKey)
	switch left := leaf.NotAfter.Sub(d.c.now()); {
	case errors.Is(err, fs.ErrPermission):
		d.add("certificate", "degraded", "security.mtls.serverKey cannot be read: "+lastCause(err), "run this as root")
	case err != nil:
		d.add("certificate", "failed", "it cannot be used with "+c.ServerKey+": "+lastCause(err), "put its key there, or name another file in security.mtls.serverKey; wardroom setup makes its own pair anew")
	case left <= 0:
		d.add("certificate", "failed", "it ended on "+ends, "replace "+c.ServerCert+"; the server takes it up by itself")
	case left < 14*24*time.Hour:
		d.add("certificate", "degraded", "it ends on "+ends, "replace "+c.ServerCert+" before; the server takes it up by itself")
	default:
		d.add("certificate", "ok", "it ends on "+ends, "")
	}
}

// data checks the directory of the store: what root left there cannot be used by the service.
func (d *doctor) data() {
	path := d.cfg.Store.Path
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		d.add("data", "ok", path+" is made at the first start", "")
		return
	case err != nil:
		d.add("data", "degraded", path+" cannot be looked at: "+lastCause(err), "run this as root")
		return
	case !info.IsDir():
		d.add("data", "failed", path+" is no directory", "name another in store.path")
		return
	case info.Mode().Perm()&0o077 != 0:
		d.add("data", "failed", fmt.Sprintf("%s has the mode %04o: others can read what is stored", path, info.Mode().Perm()), "chmod 0700 "+path)
		return
	}
	if foreign, owner, found := foreignFile(path); found {
		d.add("data", "failed", foreign+" does not belong to the owner of "+path+": the service cannot use it", "chown -R "+owner+" "+path)
		return
	}
	d.add("data", "ok", path, "")
}

func (d *doctor) disk() {
	path := d.cfg.Store.Path
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			break
		}
		path = filepath.Dir(path)
	}
	free, ok := freeBytes(path)
	least := d.cfg.Store.MinFree
	switch {
	case !ok:
	case free < least:
		d.add("disk", "failed", sizeText(free)+" free: writes are refused below "+sizeText(least), "free space on the file system of "+path)
	case free < 2*least:
		d.add("disk", "degraded", sizeText(free)+" free: writes are refused below "+sizeText(least), "free space on the file system of "+path)
	default:
		d.add("disk", "ok", sizeText(free)+" free", "")
	}
}

func (d *doctor) plugins() {
	names := pluginsOf(d.cfg)
	if len(names) == 0 {
		d.add("plugins", "degraded", "none is configured: agents connect, and none is started", "install the package wardroom-runtime-local, or name a runtime in the configuration")
		return
	}
	dir, _, err := pluginDir("", d.path)
	if err != nil {
		d.add("plugins", "failed", err.Error(), "set plugins.dir")
		return
	}
	manifest, err := pluginhost.ReadManifest(dir)
	if err != nil {
		d.add("plugins", "failed", err.Error(), "install the packages of the plugins again")
		return
	}
	for _, name := range names {
		entry := d.cfg.Plugins.Entries[name]
		file := filepath.Join(dir, name)
		if entry != nil && entry.Path != "" {
			file = entry.Path
		}
		_, vouched := manifest.Lookup(name)
		vouched = vouched || entry != nil && entry.SHA256 != ""
		_, err := os.Stat(file)
		switch {
		case err != nil:
			d.add("plugin "+name, "failed", file+" is not there", "install the package "+packageOf(name)+", or take it out of the configuration")
		case !vouched:
			d.add("plugin "+name, "failed", "no manifest vouches for "+file, "wardroom plugin install "+file)
		default:
			d.add("plugin "+name, "ok", file, "")
		}
	}
}

// tools looks for the programs that agents are, and for what threads need.
func (d *doctor) tools(ctx context.Context) {
	if version, err := probe(ctx, "git", "--version"); err != nil {
		d.add("git", "degraded", "git is not there: threads with a repository are refused", "install git 2.36 or newer")
	} else {
		d.add("git", "ok", version, "")
	}
	if d.cfg == nil || len(d.cfg.Runtimes) == 0 {
		return
	}
	found, missing := codingTools()
	if len(found) == 0 && len(d.cfg.AgentTypes) == 0 {
		d.add("coding tools", "degraded", "none of "+strings.Join(missing, ", ")+" is on the PATH", "install one, or declare another program in agentTypes")
		return
	}
	d.add("coding tools", "ok", "on the PATH: "+cmp.Or(strings.Join(found, ", "), "none")+"; not: "+cmp.Or(strings.Join(missing, ", "), "none"), "")
}

// probe returns the first line that a program prints.
func probe(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	line, _, _ := bytes.Cut(out, []byte("\n"))
	return string(line[:min(len(line), 200)]), err
}

// server asks the server what it says of itself, and where none answers, why.
func (d *doctor) server(ctx context.Context) {
	socket, err := d.c.localSocket()
	if err != nil && d.cfg != nil && d.cfg.Server.AdminSocket != "" {
		socket, err = openAdminSocket(d.cfg.Server.AdminSocket)
	}
	if err != nil && d.cfg != nil {
		if there, failed := openAdminSocket(filepath.Join(d.cfg.Store.Path, "admin.sock")); failed == nil || os.IsPermission(failed) {
			socket, err = there, failed
		}
	}
	if err == nil {
		d.running(ctx, socket)
		return
	}
	if os.IsPermission(err) {
		d.add("server", "degraded", "its socket is for root and the user of the service", "sudo wardroom doctor")
		return
	}
	state, _ := probe(ctx, "systemctl", "is-active", "wardroom") // it exits with 3 for one that is not
	next := "systemctl enable --now wardroom"
	switch state {
	case "failed":
		d.add("server", "failed", "the service failed", "journalctl -u wardroom -n 50")
		return
	case "active", "activating":
		d.add("server", "degraded", "the service is "+state+" and does not answer on its socket", "journalctl -u wardroom -n 50")
		return
	case "":
		next = "wardroom serve --config " + d.path
	}
	if d.cfg != nil {
		if listener, err := net.Listen("tcp", d.cfg.Server.Listen); err != nil { //nolint:noctx // it listens at once, or not
			d.add("server", "failed", d.cfg.Server.Listen+" cannot be listened on: "+lastCause(err), "end what uses the port, or change server.listen")
			return
		} else if err := listener.Close(); err != nil {
			d.add("server", "degraded", lastCause(err), "")
			return
		}
	}
	d.add("server", "failed", "it does not run", next)
}

func (d *doctor) running(ctx context.Context, socket *adminSocket) {
	ctx, cancel := d.c.bounded(ctx)
	defer cancel()
	body, err := socket.read(ctx, http.MethodGet, "/admin/status", nil)
	var state wire.AdminStatus
	if err == nil {
		err = json.Unmarshal(body, &state)
	}
	if err != nil {
		d.add("server", "failed", "it does not say how it is: "+err.Error(), "journalctl -u wardroom -n 50")
		return
	}
	overall := map[string]string{"healthy": "ok", "degraded": "degraded"}[state.Status]
	d.add("server", cmp.Or(overall, "failed"), fmt.Sprintf("version %s is %s on %s", state.Version, state.Status, state.Address), "")
	if own := buildInfo().Version; own != state.Version {
		d.add("version", "degraded", "the server runs "+state.Version+", and "+own+" is installed", "systemctl restart wardroom")
	}
	for _, row := range state.Rows {
		if (row.Kind == "part" || row.Kind == "certificate" || row.Kind == "disk" || row.Kind == "configuration") && row.Status != "ok" {
			d.add("server "+row.Name, row.Status, row.Message, row.Hint)
		}
	}
}

func (d *doctor) backups(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // no package made it: backups are somebody else's matter
	}
	newest, ahead := time.Time{}, false
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case err != nil || !backupName.MatchString(entry.Name()):
		case info.ModTime().After(d.c.now().Add(time.Hour)): // made while the clock was wrong, or it is wrong now
			ahead = true
		case info.ModTime().After(newest):
			newest = info.ModTime()
		}
	}
	switch {
	case newest.IsZero() && ahead:
		d.add("backups", "degraded", "those in "+dir+" are of a time that is to come", "look at the clock of this machine, then: systemctl start wardroom-backup.service")
	case newest.IsZero():
		d.add("backups", "degraded", "there is none in "+dir, "systemctl enable --now wardroom-backup.timer")
	case d.c.now().Sub(newest) > backupsAge:
		d.add("backups", "degraded", "the newest is of "+newest.UTC().Format(time.DateTime), "systemctl status wardroom-backup.timer wardroom-backup.service")
	default:
		d.add("backups", "ok", "the newest is of "+newest.UTC().Format(time.DateTime), "")
	}
}

// sizeText writes bytes for people.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
