package main_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core/coretest"
)

// machine is a server of this machine with its configuration, looked after over its admin socket.
type machine struct {
	t      *testing.T
	dir    string
	config string
	log    *console
	stop   func() int
}

// startMachine serves a configuration. Its store is in data below dir.
func startMachine(t *testing.T, dir, config string) *machine {
	t.Helper()
	m := &machine{t: t, dir: dir, config: filepath.Join(dir, "wardroom.yaml"), log: &console{}}
	m.write(config)
	ctx, cancel := context.WithCancel(context.Background())
	var out console
	code := make(chan int, 1)
	go func() {
		code <- cmd.Execute(ctx, cmd.Deps{
			Run: func(ctx context.Context, opts cmd.RunOptions) error {
				return appliance.Run(ctx, appliance.Options(opts))
			},
			Stdout: &out, Stderr: m.log,
		}, []string{"serve", "--config", m.config})
	}()
	m.stop = func() int { cancel(); return <-code }
	ended := func() bool {
		select {
		case c := <-code:
			t.Fatalf("the server ended with %d\n%s", c, m.log)
		default:
		}
		return false
	}
	ready := regexp.MustCompile(`ready: (http://\S+)`)
	coretest.WaitFor(t, "the server", func() bool { return ready.MatchString(out.String()) || ended() })
	return m
}

func (m *machine) write(config string) {
	m.t.Helper()
	if err := os.WriteFile(m.config, []byte(config), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) socket() string { return filepath.Join(m.dir, "data", "admin.sock") }

// command runs a command line on the machine.
func (m *machine) command(code int, args ...string) (stdout, stderr string) {
	m.t.Helper()
	var out, errs console
	got := cmd.Execute(m.t.Context(), cmd.Deps{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Keys: appliance.OfflineKeys,
		Getenv: func(key string) string { return map[string]string{"WARDROOM_ADMIN_SOCKET": m.socket()}[key] },
	}, args)
	if got != code {
		m.t.Fatalf("%v ended with %d, want %d\n%s%s", args, got, code, &out, &errs)
	}
	return out.String(), errs.String()
}

const guarded = `
server: {listen: "127.0.0.1:0"}
store: {path: data, minFree: 64MiB}
security: {authentication: {apiKeys: {enabled: true}}}
`

// planted are secrets in every place of a configuration that takes one in clear.
const planted = guarded + `
webhooks:
  proxy: http://proxy.example.com:3128
  proxyUsername: bot
  proxyPassword: planted-proxy-1234567890
  endpoints:
    - {url: "https://hooks.example.com/x", events: [execution.completed], secret: planted-hook-secret-1234567890abcdef}
threads:
  repositories:
    app: {url: "https://git.example.com/app.git", username: bot, password: planted-repo-password}
agentTypes:
  mine: {command: "true", env: {API_KEY: planted-env-value}}
`

func TestMachine(t *testing.T) {
	dir := t.TempDir()
	m := startMachine(t, dir, planted)
	defer func() { m.stop() }()

	// The API, without a key: who is here may everything.
	file := filepath.Join(dir, "measure.yaml")
	if err := os.WriteFile(file, []byte(measure), 0o600); err != nil {
		t.Fatal(err)
	}
	m.command(0, "pattern", "put", file)
	if out, _ := m.command(0, "auth", "whoami", "-o", "json"); !strings.Contains(out, `"local"`) {
		t.Errorf("whoami: %s", out)
	}
	out, _ := m.command(0, "status")
	for _, want := range []string{"store", "queue", "executions", "disk", filepath.Join(dir, "data")} {
		if !strings.Contains(out, want) {
			t.Errorf("status has no %q:\n%s", want, out)
		}
	}

	// Reload: all or nothing, and it says why.
	m.write(planted + "log: {level: warn}\n")
	m.command(0, "reload")
	if out, _ := m.command(0, "log-level"); !strings.HasPrefix(out, "warn ") {
		t.Errorf("after the reload: %s", out)
	}
	m.write(planted + "nosuch: 1\n")
	if _, stderr := m.command(2, "reload"); !strings.Contains(stderr, "nosuch") {
		t.Errorf("a broken reload says: %s", stderr)
	}
	m.command(0, "log-level", "debug")
	if _, stderr := m.command(2, "log-level", "loud"); !strings.Contains(stderr, "trace, debug, info, warn, error") {
		t.Errorf("a wrong level: %s", stderr)
	}
	// A part has a level of its own until the next reload, which brings that of the configuration.
	m.command(0, "log-level", "error", "--part", "webhooks")
	if out, _ := m.command(0, "log-level"); !strings.HasPrefix(out, "debug (configured: warn)\n") || !strings.Contains(out, "webhooks: error") {
		t.Errorf("with a part: %s", out)
	}
	if _, stderr := m.command(2, "log-level", "info", "--part", "webhook"); !strings.Contains(stderr, "threads, tls") {
		t.Errorf("a part that there is not: %s", stderr)
	}
	if _, stderr := m.command(2, "log-level", "--part", "webhook"); !strings.Contains(stderr, "threads, tls") {
		t.Errorf("the level of a part that there is not: %s", stderr)
	}
	m.write(planted + "log: {parts: {store: trace}}\n")
	m.command(0, "reload")
	if out, _ := m.command(0, "log-level", "--part", "webhooks"); out != "info\n" {
		t.Errorf("after the reload: %q", out)
	}
	if out, _ := m.command(0, "log-level", "--part", "store"); out != "trace\n" {
		t.Errorf("with a part in the configuration: %q", out)
	}
	m.write(planted)
	m.command(0, "reload")

	// A plugin that is new and does not start refuses the reload; the command and doctor agree.
	says := func(words ...string) {
		t.Helper()
		out, _ := m.command(1, "doctor", "--config", m.config)
		for _, word := range words {
			if !strings.Contains(out, word) {
				t.Errorf("doctor has no %q:\n%s", word, out)
			}
		}
	}
	m.write(planted + "log: {level: warn}\nplugins: {audit-missing: {kind: audit}}\n")
	says("not in effect yet: plugins.audit-missing", "log.level", "wardroom reload")
	if _, stderr := m.command(1, "reload"); !strings.Contains(stderr, "audit-missing") || !strings.Contains(stderr, "nothing was changed") {
		t.Errorf("a reload with a plugin that does not start says: %s", stderr)
	}
	if out, _ := m.command(0, "log-level"); !strings.HasPrefix(out, "debug ") && !strings.HasPrefix(out, "info ") {
		t.Errorf("after the refused reload: %s", out)
	}
	says("the last reload was refused", "audit-missing")
	m.write(planted)
	m.command(0, "reload")

	t.Run("Bundle", func(t *testing.T) {
		bundle := filepath.Join(dir, "bundle.tar.gz")
		m.command(0, "debug", "bundle", bundle, "--duration", "0s")
		key, err := os.ReadFile(filepath.Join(dir, "data", "admin.key"))
		if err != nil {
			t.Fatal(err)
		}
		parts := unpack(t, bundle)
		for _, want := range []string{"status.json", "config.yaml", "goroutines.txt", "heap.pprof", "metrics-1.txt", "metrics-2.txt", "log.txt", "plugins.json"} {
			if len(parts["wardroom-debug/"+want]) == 0 {
				t.Errorf("the bundle has no %s", want)
			}
		}
		for name, text := range parts {
			for _, secret := range []string{"planted", strings.TrimSpace(string(key))} {
				if strings.Contains(text, secret) {
					t.Errorf("%s holds %q", name, secret)
				}
			}
		}
	})
	t.Run("Backup", func(t *testing.T) { testBackup(t, m) })
	t.Run("Strangers", func(t *testing.T) { testStrangers(t, m) })
}

// unpack returns the files of a bundle.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for in := tar.NewReader(unzipped); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		parts[header.Name] = string(data)
	}
}

// testBackup backs up the running server, with and without secrets, and starts another one from it.
func testBackup(t *testing.T, m *machine) {
	whole, plain := filepath.Join(m.dir, "whole.backup"), filepath.Join(m.dir, "plain.backup")
	m.command(0, "backup", "create", whole, "--secrets")
	m.command(4, "backup", "create", whole)
	m.command(0, "backup", "create", plain)
	out, _ := m.command(0, "backup", "verify", whole, "-o", "json")
	var about struct {
		Records uint64
		Secrets bool
		Files   []string
	}
	if err := json.Unmarshal([]byte(out), &about); err != nil || about.Records == 0 || !about.Secrets {
		t.Errorf("verify: %s (%v)", out, err)
	}
	if !strings.Contains(strings.Join(about.Files, " "), "keys/keys.pepper") {
		t.Errorf("files: %v", about.Files)
	}
	out, _ = m.command(0, "backup", "inspect", plain, "-o", "json")
	if strings.Contains(out, "keys/") {
		t.Errorf("a backup without secrets has keys: %s", out)
	}
	text, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 10, len(text) / 2, len(text) - 1} {
		cut := filepath.Join(t.TempDir(), "cut.backup")
		if err := os.WriteFile(cut, text[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		into := filepath.Join(t.TempDir(), "data")
		m.command(2, "backup", "restore", cut, "--data-dir", into)
		if _, err := os.Stat(into); !os.IsNotExist(err) {
			t.Errorf("a restore of %d of %d bytes left something: %v", n, len(text), err)
		}
	}

	mine, other := identity(t), identity(t)
	sealed := filepath.Join(m.dir, "sealed.backup.age")
	m.command(0, "backup", "create", sealed, "--recipient", mine.public)
	if out, _ := m.command(0, "backup", "verify", sealed, "--identity", mine.file, "-o", "json"); !strings.Contains(out, "keys/keys.pepper") {
		t.Errorf("an encrypted backup: %s", out)
	}
	m.command(2, "backup", "verify", sealed)
	m.command(2, "backup", "verify", sealed, "--identity", other.file)
	m.command(2, "backup", "create", filepath.Join(m.dir, "no.backup"), "--recipient", "age1nonsense")

	days := filepath.Join(m.dir, "days")
	if err := os.Mkdir(days, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"wardroom-20200101T000000Z.backup", "wardroom-20210101T000000Z.backup.age", "mine.backup"} {
		if err := os.WriteFile(filepath.Join(days, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.command(0, "backup", "create", "--dir", days, "--keep", "2")
	entries, err := os.ReadDir(days)
	if err != nil || len(entries) != 3 || entries[0].Name() != "mine.backup" || entries[1].Name() != "wardroom-20210101T000000Z.backup.age" {
		t.Errorf("kept: %v, %v", entries, err)
	}

	again := t.TempDir()
	m.command(0, "backup", "restore", whole, "--data-dir", filepath.Join(again, "data"), "--files", filepath.Join(again, "files"))
	m.command(4, "backup", "restore", whole, "--data-dir", filepath.Join(again, "data"))
	if restored, err := os.ReadFile(filepath.Join(again, "files", "config", "wardroom.yaml")); err != nil || !strings.Contains(string(restored), "planted-hook") {
		t.Errorf("the configuration of the backup: %v", err)
	}
	key, err := os.ReadFile(filepath.Join(m.dir, "data", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	copied := startMachine(t, again, guarded)
	defer func() { copied.stop() }()
	out, _ = copied.command(0, "status", "-o", "jsonpath=.address")
	copied.command(0, "pattern", "get", "measure", "--server", "http://"+strings.TrimSpace(out), "--token", strings.TrimSpace(string(key)))
}

// keyPair is a key of age.
type keyPair struct{ public, file string }

func identity(t *testing.T) keyPair {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(file, []byte(key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return keyPair{key.Recipient().String(), file}
}

// testStrangers talks to the socket without what it takes.
func testStrangers(t *testing.T, m *machine) {
	over := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", m.socket())
		},
	}}
	for _, path := range []string{"/admin/status", "/admin/config", "/admin/backup", "/admin/debug/pprof/heap", "/api/patterns", "/nosuch"} {
		for _, token := range []string{"", "Bearer ", "Bearer wrong"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				r.Header.Set("Authorization", token)
			}
			answer, err := over.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with %q: status %d", path, token, answer.StatusCode)
			}
		}
	}
	for _, name := range []string{"admin.sock", "admin.token"} {
		info, err := os.Stat(filepath.Join(m.dir, "data", name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	// Nothing of the machine is reached over the network.
	out, _ := m.command(0, "status", "-o", "jsonpath=.address")
	for _, path := range []string{"/admin/status", "/debug/pprof/", "/admin/debug/pprof/"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+strings.TrimSpace(out)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s over the network: status %d", path, answer.StatusCode)
		}
	}
}

func TestSetupAndDoctor(t *testing.T) {
	dir := t.TempDir()
	m := &machine{t: t, dir: dir, config: filepath.Join(dir, "etc", "wardroom.yaml"), log: &console{}}
	setup := []string{"setup", "--yes", "--config", m.config, "--listen", "127.0.0.1:0", "--tls-generate", "localhost,127.0.0.1"}
	if out, _ := m.command(0, append(setup, "--print")...); !strings.Contains(out, "serverCert") {
		t.Errorf("setup --print: %s", out)
	}
	if _, err := os.Stat(m.config); !os.IsNotExist(err) {
		t.Error("setup --print wrote something")
	}
	m.command(0, setup...)
	ca, err := os.ReadFile(filepath.Join(dir, "etc", "tls", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "etc", "tls", "ca.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("ca.key: %v, %v", info, err)
	}
	m.command(0, "config", "validate", m.config)
	m.command(0, setup...) // again, by the same authority
	if now, err := os.ReadFile(filepath.Join(dir, "etc", "tls", "ca.crt")); err != nil || string(now) != string(ca) {
		t.Errorf("the authority is another: %v", err)
	}
	m.command(2, "setup", "--yes", "--config", m.config, "--listen", "nowhere")

	if err := os.WriteFile(filepath.Join(dir, "etc", "conf.d", "50-store.yaml"), []byte("store: {path: ../../data, minFree: 64MiB}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	drop := filepath.Join(dir, "etc", "conf.d", "10-setup.yaml")
	written, err := os.ReadFile(drop)
	if err != nil {
		t.Fatal(err)
	}
	for reason, args := range map[string][]string{
		"answer one of":          {"--audit", "nowhere"},
		"--audit-host is needed": {"--audit", "splunk"},
		"cannot be used with":    {"--tls-key", filepath.Join(dir, "etc", "tls", "ca.key")},
		"go together":            {"--tls-generate", "localhost", "--tls", "own"},
		"is no name":             {"--tls-generate", "a b/c"},
		"no use here: --secrets": {"--aws-region", "eu-central-1"},
		"give the whole path":    {"--admin-key", "here"},
		"name the log group":     {"--audit", "cloudwatch"},
	} {
		if _, stderr := m.command(2, append([]string{"setup", "--yes", "--config", m.config}, args...)...); !strings.Contains(stderr, reason) {
			t.Errorf("%v: %s", args, stderr)
		}
	}
	if now, err := os.ReadFile(drop); err != nil || string(now) != string(written) {
		t.Errorf("what was refused changed the file: %v\n%s", err, now)
	}
	// A file that is read later would undo it.
	later := filepath.Join(dir, "etc", "conf.d", "60-listen.yaml")
	if err := os.WriteFile(later, []byte("server: {listen: '127.0.0.1:0'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr := m.command(2, "setup", "--yes", "--config", m.config, "--listen", "127.0.0.1:9"); !strings.Contains(stderr, "60-listen.yaml sets server.listen too") {
		t.Errorf("a file that is read later: %s", stderr)
	}
	// A package takes its runtime into use by such a file.
	if err := os.WriteFile(later, []byte("runtimes: {local: {plugin: runtime-local}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.command(0, "setup", "--yes", "--config", m.config)
	if _, stderr := m.command(2, "setup", "--yes", "--config", m.config, "--local=false"); !strings.Contains(stderr, "60-listen.yaml sets runtimes.local too") {
		t.Errorf("a runtime of a package: %s", stderr)
	}
	if err := os.Remove(later); err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(dir, "first.key")
	for range 2 { // the second finds it done
		m.command(0, "setup", "--yes", "--config", m.config, "--admin-key", keyFile)
	}
	if info, err := os.Stat(keyFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key of setup: %v, %v", info, err)
	}
	out, _ := m.command(1, "doctor", "--config", m.config)
	for _, want := range []string{"configuration", "certificate", "does not run"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor says nothing of %q:\n%s", want, out)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ready, log console
	code := make(chan int, 1)
	go func() {
		code <- cmd.Execute(ctx, cmd.Deps{
			Run: func(ctx context.Context, opts cmd.RunOptions) error {
				return appliance.Run(ctx, appliance.Options(opts))
			},
			Stdout: &ready, Stderr: &log,
		}, []string{"serve", "--config", m.config})
	}()
	defer func() { cancel(); <-code }()
	coretest.WaitFor(t, "the server", func() bool { return strings.Contains(ready.String(), "ready:") })
	out, _ = m.command(0, "doctor", "--config", m.config, "-o", "json")
	if !strings.Contains(out, `"healthy": true`) {
		t.Errorf("doctor: %s", out)
	}
	address, _ := m.command(0, "status", "-o", "jsonpath=.address")
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+strings.TrimSpace(address)+"/api/auth/keys", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	over := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}}
	if result, err := over.Do(r); err != nil || result.StatusCode != http.StatusOK {
		t.Errorf("the key and the certificate of setup: %v, %v", result, err)
	} else {
		result.Body.Close()
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "admin.key")); !os.IsNotExist(err) {
		t.Errorf("the first start made a key beside that of setup: %v", err)
	}
	m.write("nosuch: 1\n")
	out, _ = m.command(1, "doctor", "--config", m.config)
	if !strings.Contains(out, "nosuch") {
		t.Errorf("doctor of a broken configuration: %s", out)
	}
}
