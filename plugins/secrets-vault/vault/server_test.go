package vault

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/vault/api"
	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/secret"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.kill()
		_ = os.RemoveAll(shared.dir)
	}
	if code == 0 {
		err := goleak.Find()
		for until := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(until); { // idle connections end by themselves
			err = goleak.Find()
		}
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// home returns the directory of a real Vault. Without one the test is skipped, or fails where real components are required.
func home(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Vault server")
	}
	dir := os.Getenv("WARDROOM_VAULT")
	if dir == "" {
		dir = "../../../.cache/vault"
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "vault"))
	}
	if err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatalf("there is no Vault (make vault builds one, WARDROOM_VAULT names it): %v", err)
		}
		t.Skipf("there is no Vault (make vault builds one, WARDROOM_VAULT names it): %v", err)
	}
	return dir
}

// server is a real Vault that tests started.
type server struct {
	home, dir string
	address   string
	ca        string // file; empty: without TLS
	cmd       *exec.Cmd
	exited    chan struct{}
	key       string // that unseals it
	admin     *api.Client
}

const policy = `
path "secret/data/*"         { capabilities = ["read"] }
path "secret/data/forbidden" { capabilities = ["deny"] }
path "plain/*"               { capabilities = ["read"] }
path "turned/*"              { capabilities = ["read"] }
path "leased/*"              { capabilities = ["read"] }
path "short/*"               { capabilities = ["read"] }
`

// launch makes a server; a secure one has TLS, and keeps what it holds when it is killed.
func launch(home string, secure bool) (*server, error) {
	dir, err := os.MkdirTemp("", "vault")
	if err != nil {
		return nil, err
	}
	listen, err := freePort()
	if err != nil {
		return nil, err
	}
	peers, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{home: home, dir: dir, address: "http://" + listen}
	tls, storage := `tls_disable = true`, `storage "inmem" {}`
	if secure { // and what it holds outlives it
		data := filepath.Join(dir, "data")
		if err := os.Mkdir(data, 0o700); err != nil {
			return nil, err
		}
		storage = fmt.Sprintf("storage \"raft\" {\npath = %q\nnode_id = \"one\"\nperformance_multiplier = 1\n}", data)
		s.address, s.ca = "https://"+listen, filepath.Join(dir, "cert.pem")
		if err := certify(s.ca, filepath.Join(dir, "key.pem")); err != nil {
			return nil, err
		}
		tls = fmt.Sprintf("tls_cert_file = %q\ntls_key_file = %q", s.ca, filepath.Join(dir, "key.pem"))
	}
	config := fmt.Sprintf("%s\nlistener \"tcp\" {\naddress = %q\ncluster_address = %q\n%s\n}\ndisable_mlock = true\nplugin_directory = %q\napi_addr = %q\ncluster_addr = %q\n",
		storage, listen, peers, tls, filepath.Join(home, "plugins"), s.address, "https://"+peers)
	if err := os.WriteFile(filepath.Join(dir, "vault.hcl"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	c := Config{Address: s.address, CACert: s.ca, timeout: 20 * time.Second}
	if s.admin, err = newClient(c, newTransport(s.ca)); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		return nil, err
	}
	answer, err := s.admin.Sys().Init(&api.InitRequest{SecretShares: 1, SecretThreshold: 1})
	if err != nil {
		return nil, err
	}
	s.key = answer.Keys[0]
	s.admin.SetToken(answer.RootToken)
	return s, errors.Join(s.unseal(), s.furnish())
}

// freePort returns an address of the loopback interface that nobody listens at.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// start runs the program, and waits until it answers.
func (s *server) start() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.cmd = exec.Command(filepath.Join(s.home, "vault"), "server", "-config", filepath.Join(s.dir, "vault.hcl"))
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.Env = append(os.Environ(), "HOME="+s.dir)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	for until := time.Now().Add(time.Minute); ; {
		if _, err = s.admin.Sys().InitStatus(); err == nil {
			return nil
		}
		select {
		case <-s.exited:
		case <-time.After(50 * time.Millisecond):
			if time.Now().Before(until) {
				continue
			}
		}
		text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("Vault does not start: %w\n%s", err, text)
	}
}

func (s *server) unseal() error {
	if _, err := s.admin.Sys().Unseal(s.key); err != nil {
		return err
	}
	for until := time.Now().Add(time.Minute); ; { // until it is the active one
		health, err := s.admin.Sys().Health()
		if err == nil && !health.Sealed && !health.Standby {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("Vault does not become active: %w", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// kill ends the program and its plugins at once.
func (s *server) kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.exited
	}
	s.admin.CloneConfig().HttpClient.CloseIdleConnections()
}

func (s *server) signal(sig syscall.Signal) { _ = syscall.Kill(-s.cmd.Process.Pid, sig) }

// stop has the server stand still, until SIGCONT. On a busy machine its threads stop later than the signal was sent.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.signal(syscall.SIGSTOP)
	eventually(t, "Vault stands still", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.cmd.Process.Pid))
		return len(threads) > 0 && !slices.ContainsFunc(threads, func(name string) bool {
			stat, err := os.ReadFile(name)
			_, state, _ := bytes.Cut(stat, []byte(") ")) // behind the name of the command
			return err == nil && !bytes.HasPrefix(state, []byte("T"))
		})
	})
}

// furnish enables what tests use.
func (s *server) furnish() error {
	catalog := func(kind, name string) error {
		data, err := os.ReadFile(filepath.Join(s.home, "plugins", name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		_, err = s.admin.Logical().Write("sys/plugins/catalog/"+kind+"/"+name, map[string]any{"sha256": hex.EncodeToString(sum[:]), "command": name})
		return err
	}
	if err := errors.Join(catalog("auth", "kubernetes"), catalog("secret", "leased")); err != nil {
		return err
	}
	for path, in := range map[string]*api.MountInput{
		"secret": {Type: "kv", Options: map[string]string{"version": "2"}},
		"plain":  {Type: "kv", Options: map[string]string{"version": "1"}},
		"leased": {Type: "leased", Config: api.MountConfigInput{DefaultLeaseTTL: leasedFor.String(), MaxLeaseTTL: "1h"}},
		"short":  {Type: "leased", Config: api.MountConfigInput{DefaultLeaseTTL: "3s", MaxLeaseTTL: "4s"}},
	} {
		if err := s.admin.Sys().Mount(path, in); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
	}
	for _, method := range []string{methodAppRole, methodKubernetes} {
		if err := s.admin.Sys().EnableAuthWithOptions(method, &api.EnableAuthOptions{Type: method}); err != nil {
			return fmt.Errorf("enable %s: %w", method, err)
		}
	}
	for until := time.Now().Add(time.Minute); ; { // version 2 is upgraded after it was mounted
		_, err := s.admin.Logical().Write("secret/data/db", map[string]any{"data": map[string]any{"user": "app", "password": password}})
		if err == nil {
			break
		}
		if time.Now().After(until) {
			return err
		}
		<-time.After(20 * time.Millisecond)
	}
	return s.admin.Sys().PutPolicy("wardroom", policy)
}

// leasedFor is the life of a credential of leased. A third of it is left when it is renewed, which a slow machine needs.
const leasedFor = 6 * time.Second

// password is one that occurs nowhere by chance.
const password = "hunter2-of-the-database"

var (
	shared      *server
	startShared = sync.OnceValue(func() (err error) {
		shared, err = launch(sharedHome, false)
		return err
	})
	sharedHome string
)

// need returns the server that tests share; they leave it running.
func need(t testing.TB) *server {
	t.Helper()
	sharedHome = home(t)
	if err := startShared(); err != nil {
		t.Fatal(err)
	}
	return shared
}

// fresh returns a server that the test may harm.
func fresh(t testing.TB) *server {
	t.Helper()
	s, err := launch(home(t), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.kill()
		_ = os.RemoveAll(s.dir)
	})
	return s
}

// write writes to Vault.
func (s *server) write(t testing.TB, path string, data map[string]any) *api.Secret {
	t.Helper()
	answer, err := s.admin.Logical().Write(path, data)
	if err != nil {
		t.Fatalf("write %s: %v", path, err)
	}
	return answer
}

// put makes a version of a secret.
func (s *server) put(t testing.TB, name string, data map[string]any) {
	t.Helper()
	s.write(t, "secret/data/"+name, map[string]any{"data": data})
}

// role makes an AppRole of a name and returns how to log in with it.
func (s *server) role(t testing.TB, name string, options map[string]any) map[string]any {
	t.Helper()
	all := map[string]any{"token_policies": "wardroom"}
	for k, v := range options {
		all[k] = v
	}
	s.write(t, "auth/approle/role/"+name, all)
	id, err := s.admin.Logical().Read("auth/approle/role/" + name + "/role-id")
	if err != nil {
		t.Fatal(err)
	}
	secretID := s.write(t, "auth/approle/role/"+name+"/secret-id", nil)
	return map[string]any{"method": methodAppRole, "roleId": id.Data["role_id"], "secretIdFile": file(t, secretID.Data["secret_id"].(string))}
}

// token makes a token and returns how to use it.
func (s *server) token(t testing.TB, in *api.TokenCreateRequest) (auth map[string]any, token string) {
	t.Helper()
	in.Policies = []string{"wardroom", "default"}
	answer, err := s.admin.Auth().Token().CreateOrphan(in)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"method": methodToken, "tokenFile": file(t, answer.Auth.ClientToken)}, answer.Auth.ClientToken
}

func file(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credential")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// settings are the plugin's.
func (s *server) settings(t testing.TB, auth, more map[string]any) json.RawMessage {
	t.Helper()
	all := map[string]any{"address": s.address, "auth": auth, "timeout": "30s", "pollInterval": "1s"}
	if s.ca != "" {
		all["caCert"] = s.ca
	}
	for k, v := range more {
		all[k] = v
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// log keeps what is logged.
type log struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// provider opens a provider in this process. At the end the log is searched for what must not be there.
func (s *server) provider(t testing.TB, auth, more map[string]any) *store {
	t.Helper()
	c, problems := decode(s.settings(t, auth, more))
	for _, p := range problems {
		t.Logf("%s: %s", p.Path, p.Text)
	}
	return openFor(t, c)
}

func openFor(t testing.TB, c Config) *store {
	t.Helper()
	l := &log{}
	p, err := open(c, hclog.New(&hclog.LoggerOptions{Output: l, Level: hclog.Trace}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(context.Background()); err != nil {
			t.Error(err)
		}
		for _, text := range []string{password, "hvs."} {
			if bytes.Contains([]byte(l.String()), []byte(text)) {
				t.Errorf("the log holds a secret")
			}
		}
		if t.Failed() {
			t.Logf("the provider logged:\n%s", l)
		}
	})
	return p
}

// resolve resolves one reference.
func (s *store) resolve(t testing.TB, path, key string) (string, *secret.Error) {
	t.Helper()
	results, err := s.provider.Resolve(t.Context(), []secret.Ref{{Path: path, Key: key}}, secret.Caller{})
	if err != nil {
		return "", secret.AsError(err)
	}
	return string(results[0].Value.Reveal()), results[0].Error
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("it never comes: %s", what)
		}
	}
}

// certify makes a certificate for the loopback address that vouches for itself.
func certify(certFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "vault"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}), 0o600))
}
