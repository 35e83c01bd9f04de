package appliance_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
)

// drawer is a provider of secrets that is a plugin, and the directory that it reads.
type drawer struct {
	t   *testing.T
	dir string
	sum string
}

func newDrawer(t *testing.T) *drawer {
	t.Helper()
	d := &drawer{t: t, dir: t.TempDir()}
	binary := filepath.Join(d.dir, "bin", "secrets-drawer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./testdata/secrets-drawer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	d.sum = hex.EncodeToString(sum[:])
	return d
}

// put replaces a secret as a whole.
func (d *drawer) put(name string, fields map[string]string) {
	d.t.Helper()
	data, err := json.Marshal(fields)
	if err != nil {
		d.t.Fatal(err)
	}
	temp := filepath.Join(d.dir, "temp")
	write(d.t, temp, string(data))
	if err := os.Rename(temp, filepath.Join(d.dir, name+".json")); err != nil {
		d.t.Fatal(err)
	}
}

// plugins is the section of the configuration that starts it.
func (d *drawer) plugins() string {
	return fmt.Sprintf("plugins: {dir: %q, secrets-drawer: {kind: secret, sha256: %s, config: {directory: %q}}}\n", filepath.Join(d.dir, "bin"), d.sum, d.dir)
}

// Certificate, key and authority of the listener come from a provider; a new one is in use without a restart, and a broken one is not.
func TestCertificatesAreSecrets(t *testing.T) {
	d, authority := newDrawer(t), coretest.NewAuthority(t)
	issue := func(name string) map[string]string {
		cert, key := authority.Issue(x509.Certificate{Subject: pkix.Name{CommonName: name}})
		return map[string]string{"tls.crt": string(cert), "tls.key": string(key)}
	}
	d.put("server", issue("first"))
	d.put("clients", map[string]string{"ca.crt": string(authority.PEM())})
	s := &tlsSite{Authority: authority, log: &log{}, config: filepath.Join(d.dir, "wardroom.yaml")}
	write(t, s.config, d.plugins()+fmt.Sprintf(`server: {listen: "127.0.0.1:0"}
store: {path: %s}
security:
  secrets: {refresh: 1s}
  mtls: {enabled: true, serverCertSecret: "secrets-drawer:server", clientCASecret: "secrets-drawer:clients"}
`, filepath.Join(d.dir, "store")))
	s.app = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	alice := s.client(t)
	served := func(name string, change func(*tls.Config)) bool {
		status, _, server, err := s.get(t, "/api/health/live", change)
		return err == nil && status == http.StatusOK && server == name
	}
	if !served("first", alice) {
		t.Fatalf("the first certificate is not in use: %s", s.log)
	}
	if served("first", nil) {
		t.Error("a client without a certificate gets in")
	}
	second := issue("second")
	d.put("server", second)
	coretest.WaitFor(t, "the new certificate", func() bool { return served("second", alice) })
	d.put("server", map[string]string{"tls.crt": second["tls.crt"], "tls.key": "nonsense"})
	coretest.WaitFor(t, "an alert", func() bool {
		return strings.Contains(s.log.String(), "The new certificate of the server is not in use, and what was before stays: ")
	})
	if !served("second", alice) {
		t.Error("the former certificate is not in use")
	}
	d.put("server", second) // nothing is taken over while a part of it is broken
	other := coretest.NewAuthority(t)
	d.put("clients", map[string]string{"ca.crt": string(other.PEM())})
	coretest.WaitFor(t, "the former authority to count no more", func() bool { return !served("second", alice) })
	cert, key := other.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "bob"}})
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if !served("second", func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} }) {
		t.Error("a client of the new authority does not get in")
	}
	if strings.Contains(s.log.String(), "PRIVATE KEY") {
		t.Error("the log has a key")
	}
}

// The secret of the client at the identity provider is that of the moment: a wrong one fails sign-ins, the right one lets people in
// without a restart.
func TestClientSecretOfSignIn(t *testing.T) {
	d := newDrawer(t)
	const wrong = "canary-of-the-former-client"
	d.put("sso", map[string]string{"client": wrong})
	issuer := openProvider(t, "WARDROOM_OIDC_USERINFO=0")
	config, logged := filepath.Join(d.dir, "wardroom.yaml"), &log{}
	write(t, config, d.plugins()+fmt.Sprintf(`server: {listen: "127.0.0.1:0"}
store: {path: %s}
security:
  secrets: {refresh: 1s}
  authentication: {apiKeys: {enabled: true}}
  rbac: {enabled: true, defaultRole: viewer}
  sso:
    enabled: true
    provider: oidc
    oidc: {issuer: %q, clientId: wardroom, clientSecret: "secrets-drawer:sso#client", scopes: [openid, profile, email, groups]}
`, filepath.Join(d.dir, "store"), issuer))
	app := open(t, appliance.Options{ConfigPath: config, Version: "1.2.3", Stderr: logged})
	server := "http://" + app.Addr()
	if status, page := newBrowser(t).signIn(server, issuer, "ann", ""); status == http.StatusOK {
		t.Fatalf("with the wrong secret: %d %s", status, page)
	}
	d.put("sso", map[string]string{"client": "sekret"})
	coretest.WaitFor(t, "a sign-in with the new secret", func() bool {
		b := newBrowser(t)
		if status, _ := b.signIn(server, issuer, "ann", ""); status != http.StatusOK {
			return false
		}
		who, status := b.session(server)
		return status == http.StatusOK && who.ID == "ann"
	})
	if text := logged.String(); strings.Contains(text, wrong) || strings.Contains(text, "sekret") {
		t.Error("the log has a secret")
	}
}

// The password of a repository is that of the moment of each connection.
func TestPasswordOfARepository(t *testing.T) {
	out, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, missing := os.Stat(backend); err != nil || missing != nil {
		t.Skip("git has no http-backend here")
	}
	d := newDrawer(t)
	repo := filepath.Join(d.dir, "repos", "app.git")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", repo},
		{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	git := &cgi.Handler{Path: backend, Env: []string{
		"GIT_PROJECT_ROOT=" + filepath.Dir(repo), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}}
	const first, second = "canary-of-git-1", "canary-of-git-2"
	var used seen
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		used.add(password)
		if password != second {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		git.ServeHTTP(w, r)
	}))
	defer remote.Close()
	d.put("git", map[string]string{"password": first})
	config, logged := filepath.Join(d.dir, "wardroom.yaml"), &log{}
	write(t, config, d.plugins()+fmt.Sprintf(`server: {listen: "127.0.0.1:0", environment: development}
store: {path: %s}
log: {level: trace}
security: {secrets: {refresh: 1s}}
threads: {repositories: {app: {url: %q, username: ci, password: "secrets-drawer:git#password"}}}
`, filepath.Join(d.dir, "store"), remote.URL+"/app.git"))
	app := open(t, appliance.Options{ConfigPath: config, Version: "1.2.3", Stderr: logged})
	api := connect(t, app)
	prepare := func() error {
		_, err := api.PrepareThread(t.Context(), client.ThreadSpec{
			ExecutionID: "new", AgentType: "claude", Objective: "look", Provision: true,
			Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: "app"}},
		})
		return err
	}
	if err := prepare(); err == nil || strings.Contains(err.Error(), "canary") || !used.has(first) {
		t.Fatalf("with the wrong password: %v", err)
	}
	d.put("git", map[string]string{"password": second})
	coretest.WaitFor(t, "a connection with the new password", func() bool { return prepare() == nil })
	if strings.Contains(logged.String(), "canary") {
		t.Error("the log has a password")
	}
	for _, password := range []string{first, second} {
		if found := filesWith(t, filepath.Join(d.dir, "store"), password); len(found) > 0 {
			t.Errorf("files hold a password: %v", found)
		}
	}
}
