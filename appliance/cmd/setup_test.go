package cmd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/config"
)

// ownCertificate writes a certificate that ends at a time, and its key.
func ownCertificate(t *testing.T, dir, name string, end time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-24 * time.Hour), NotAfter: end, DNSNames: []string{name}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestSetupAsks answers all questions at a terminal, each wrongly first.
func TestSetupAsks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "etc", "wardroom.yaml")
	good, key := ownCertificate(t, dir, "good", scriptTime().Add(365*24*time.Hour))
	ended, _ := ownCertificate(t, dir, "ended", scriptTime().Add(-time.Hour))
	_, otherKey := ownCertificate(t, dir, "other", scriptTime().Add(time.Hour))
	notes := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(notes, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}

	p := sitDownTo(t, nil, "setup", "--config", path)
	p.sees("runtime local lacks: ")
	p.sees("runtime docker lacks: its plugin: install the package wardroom-runtime-docker")
	p.sees("runtime kubernetes lacks: ")
	ask := func(question string, answers ...string) { // good answers are last; others have what is said of them behind
		t.Helper()
		p.sees(question)
		for i := 0; i+1 < len(answers); i += 2 {
			p.types(answers[i] + "\n")
			p.sees(answers[i+1])
		}
		p.types(answers[len(answers)-1] + "\n")
	}
	ask("Address to listen on", "nowhere", "server.listen: ", ":99999", "server.listen: ", "10.0.0.7:8443")
	ask("Address under which clients reach it", "ftp://x", "server.baseUrl: ", "https://wardroom.example.com")
	ask("TLS: ", "perhaps", "answer one of none, own, generate", tlsOwnWord)
	ask("File with the certificate", "relative.crt", "give the whole path", filepath.Join(dir, "none.crt"), "no such file",
		dir, "is no file", notes, "holds no certificate in PEM", ended, "the certificate ended on 2026-01-02", good)
	ask("File with its private key", notes, "cannot be used with", otherKey, "private key does not match", key)
	ask("File for a key with all rights", "key.txt", "give the whole path", filepath.Join(dir, "none", "key"), "there is no directory", "")
	ask("Where secrets come from", "vaults", "answer one of none, vault", "vault")
	ask("Address of Vault", "", "give the address", "vault", "security.secrets.vault.address: ", "https://vault.example.com:8200")
	ask("How to log in there", "password", "answer one of token", "approle")
	ask("The role id", "", "a role is needed", "wardroom-1")
	ask("File with the token, or with the secret id", "id", "give the whole path", notes)
	ask("Where the audit trail goes", "printer", "answer one of store", "splunk")
	ask("Its address: ", "", "give its address", "splunk.example.com")
	ask("Variable of /etc/default/wardroom", "s3cret value", "the name of a variable", "SPLUNK_TOKEN")
	ask("Write it?", "maybe", "answer yes or no", "y")
	p.leaves(0)
	for _, want := range []string{"put SPLUNK_TOKEN=... into", "the plugin audit-splunk is not installed: install the package wardroom-audit", "wardroom doctor --config"} {
		p.sees(want)
	}

	drop := filepath.Join(dir, "etc", "conf.d", "10-setup.yaml")
	cfg, err := config.Load(path, config.Options{Lookup: func(name string) (string, bool) { return "x", name == "SPLUNK_TOKEN" }})
	if err != nil {
		t.Fatal(err)
	}
	if s := cfg.Security; cfg.Server.Listen != "10.0.0.7:8443" || s.MTLS.ServerCert != good || s.MTLS.ServerKey != key ||
		s.Secrets.Vault.Auth.Method != "approle" || s.Audit.Destination != "splunk" || s.Audit.Splunk.Host != "splunk.example.com" {
		t.Errorf("in effect: %+v", s)
	}
	text := read(t, drop)
	if !strings.Contains(text, "roleId: \"wardroom-1\"") || !strings.Contains(text, "token: \"${SPLUNK_TOKEN}\"") {
		t.Errorf("written:\n%s", text)
	}

	// The file is changed by hand, and no answer is new: every proposal is the value in effect.
	changed := strings.Replace(text, "server:\n", "# Ours.\nlog:\n  level: debug # while we look\n\nserver:\n  shutdownTimeout: 10s\n", 1)
	if err := os.WriteFile(drop, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	p = sitDownTo(t, nil, "setup", "--config", path)
	for range 14 {
		p.types("\n")
	}
	p.types("\n")
	p.leaves(0)
	p.sees("10-setup.yaml is as it should be")
	if now := read(t, drop); now != changed {
		t.Errorf("it became\n%s", now)
	}

	// One answer changes; what others put there stays.
	p = sitDownTo(t, nil, "setup", "--config", path, "--listen", "127.0.0.1:9000", "--tls", "none", "--audit", "store", "--secrets", "none")
	p.sees("Address under which")
	p.types("none\n")
	p.sees("File for a key")
	p.types("\n")
	p.sees("Write it?")
	p.types("yes\n")
	p.leaves(0)
	now := read(t, drop)
	for _, want := range []string{"# Ours.\n", "level: debug # while we look\n", "shutdownTimeout: 10s\n", "listen: \"127.0.0.1:9000\"\n"} {
		if !strings.Contains(now, want) {
			t.Errorf("%q is gone:\n%s", want, now)
		}
	}
	for _, gone := range []string{"serverCert", "splunk", "vault", "baseUrl"} {
		if strings.Contains(now, gone) {
			t.Errorf("%q is left:\n%s", gone, now)
		}
	}

	// Who leaves, or says no, has changed nothing.
	for end, code := range map[string]int{"\x03": 130, "\x04": 2} {
		p = sitDownTo(t, nil, "setup", "--config", path)
		p.sees("Address to listen on")
		p.types(":1\n")
		p.sees("Address under which")
		p.types(end)
		p.leaves(code)
		p.sees("nothing was written")
	}
	p = sitDownTo(t, nil, "setup", "--config", path, "--listen", "127.0.0.1:9001", "--tls", "none", "--audit", "file", "--secrets", "none", "--base-url", "none")
	for _, answer := range []string{"\n", "relative\n", "/var/log/wardroom/audit.log\n", "no\n"} {
		p.types(answer)
	}
	p.leaves(2)
	p.sees("give the whole path")
	p.sees("nothing was written")
	if again := read(t, drop); again != now {
		t.Errorf("it became\n%s", again)
	}
}

const tlsOwnWord = "own"

// runSetup runs setup without a terminal, and returns what it printed and its exit code.
func runSetup(t *testing.T, args ...string) (said string, code int) {
	t.Helper()
	cmd := exec.Command("wardroom", append([]string{"setup", "--yes"}, args...)...)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestSetupUnderAStrictUmask: what root sets up on a hardened machine can be read by the group of the service, but for the key of the
// authority.
func TestSetupUnderAStrictUmask(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this takes root")
	}
	const service = 54321
	dir := filepath.Join(t.TempDir(), "wardroom")
	if err := errors.Join(os.Mkdir(dir, 0o750), os.Chown(dir, 0, service)); err != nil {
		t.Fatal(err)
	}
	former := syscall.Umask(0o077)
	defer syscall.Umask(former)
	if said, code := runSetup(t, "--config", filepath.Join(dir, "wardroom.yaml"), "--listen", "127.0.0.1:8443", "--tls-generate", "localhost"); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o640)
		if entry.IsDir() {
			want = 0o750
		}
		if entry.Name() == "ca.key" {
			want = 0o600
		}
		owner, _ := info.Sys().(*syscall.Stat_t)
		if info.Mode().Perm() != want || want != 0o600 && owner.Gid != service {
			t.Errorf("%s has mode %04o and the group %d", path, info.Mode().Perm(), owner.Gid)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSetupCertificate: what ends between the files of a certificate is made whole by the next run, and clients keep the
// authority that they trust.
func TestSetupCertificate(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, "tls", name) }
	pair := func() error {
		_, err := tls.LoadX509KeyPair(file("server.crt"), file("server.key"))
		return err
	}
	path := filepath.Join(dir, "wardroom.yaml")
	if said, code := runSetup(t, "--config", path, "--listen", "127.0.0.1:8443", "--tls-generate", "localhost"); code != 0 || pair() != nil {
		t.Fatalf("exit code %d, %v\n%s", code, pair(), said)
	}
	authority := read(t, file("ca.crt"))

	// The key is that of a certificate which was not written any more.
	_, other := ownCertificate(t, dir, "other", scriptTime().Add(time.Hour))
	if err := os.Rename(other, file("server.key")); err != nil {
		t.Fatal(err)
	}
	if said, code := runSetup(t, "--config", path); code != 0 || pair() != nil {
		t.Errorf("another's key: exit code %d, %v\n%s", code, pair(), said)
	}
	if err := os.Remove(file("server.key")); err != nil {
		t.Fatal(err)
	}
	if said, code := runSetup(t, "--config", path); code != 0 || pair() != nil {
		t.Errorf("no key: exit code %d, %v\n%s", code, pair(), said)
	}
	before := read(t, file("server.crt"))
	if _, code := runSetup(t, "--config", path); code != 0 || read(t, file("server.crt")) != before {
		t.Errorf("a whole pair: exit code %d, or it was made anew", code)
	}

	// The key cannot be written: the certificate stays that of the former one.
	kept := file("server.key") + ".kept"
	if err := errors.Join(os.Rename(file("server.key"), kept), os.MkdirAll(filepath.Join(file("server.key"), "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if said, code := runSetup(t, "--config", path, "--tls-generate", "localhost"); code == 0 || read(t, file("server.crt")) != before {
		t.Errorf("a key that cannot be written: exit code %d, or another certificate\n%s", code, said)
	}
	if err := errors.Join(os.RemoveAll(file("server.key")), os.Rename(kept, file("server.key"))); err != nil {
		t.Fatal(err)
	}

	// The key of the authority was taken off the machine.
	if err := os.Remove(file("ca.key")); err != nil {
		t.Fatal(err)
	}
	said, code := runSetup(t, "--config", path, "--tls-generate", "localhost,wardroom.example")
	if code != 2 || !strings.Contains(said, "ca.key is not there") || read(t, file("ca.crt")) != authority || pair() != nil {
		t.Errorf("without the authority's key: exit code %d, %v\n%s", code, pair(), said)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSetupKeyFile: a file that is there and holds no key is not what setup leaves there, nor does anything else change then.
func TestSetupKeyFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "wardroom.yaml")
	if err := os.WriteFile(path, []byte("store: {path: data}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	notes, empty, key, link := filepath.Join(dir, "notes"), filepath.Join(dir, "empty"), filepath.Join(dir, "key"), filepath.Join(dir, "link")
	for file, text := range map[string]string{notes: "hello\n", empty: "", key: "wr_01JGJB50G0000000000000000_secret_sum\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		notes: "is there and holds no key", empty: "is there and holds no key", dir: "is no file", link: "no such file",
	} {
		said, code := runSetup(t, "--config", path, "--admin-key", file)
		if code != 2 || !strings.Contains(said, want) || exists(filepath.Join(dir, "conf.d")) {
			t.Errorf("%s: exit code %d\n%s", file, code, said)
		}
	}
	if said, code := runSetup(t, "--config", path, "--admin-key", key); code != 0 || !strings.Contains(said, "a key with all rights is in "+key) {
		t.Errorf("a key that is there: exit code %d\n%s", code, said)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestSetupBesideOthers: setup reads the other files as the server does, and they may go on from what setup wrote.
func TestSetupBesideOthers(t *testing.T) {
	made := func(t *testing.T, name string) (path, dropIns string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(filepath.Join(dir, "conf.d"), 0o700); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "wardroom.yaml"), filepath.Join(dir, "conf.d")
	}
	put := func(t *testing.T, dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("Completed", func(t *testing.T) {
		path, dropIns := made(t, "etc")
		if said, code := runSetup(t, "--config", path, "--local"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, said)
		}
		put(t, dropIns, "20-own.yaml", "runtimes: {local: {config: {grace: 5s}}}\n")
		before := read(t, filepath.Join(dropIns, "10-setup.yaml"))
		if said, code := runSetup(t, "--config", path, "--listen", "127.0.0.1:9000"); code != 0 {
			t.Errorf("exit code %d\n%s", code, said)
		}
		if now, want := read(t, filepath.Join(dropIns, "10-setup.yaml")), strings.Replace(before, "127.0.0.1:8080", "127.0.0.1:9000", 1); now != want {
			t.Errorf("it became\n%s", now)
		}
		if said, code := runSetup(t, "--config", path, "--local=false"); code != 2 || !strings.Contains(said, "20-own.yaml:1: runtimes.local.plugin: is missing") {
			t.Errorf("what the other file needs was taken out: exit code %d\n%s", code, said)
		}
	})
	for _, name := range []string{"a[1]", "a[1", "a*", "a b"} {
		t.Run(name, func(t *testing.T) {
			path, dropIns := made(t, name)
			put(t, dropIns, "20-own.yaml", "server: {listen: \"127.0.0.1:9999\"}\n")
			if said, code := runSetup(t, "--config", path, "--listen", "127.0.0.1:7777"); code != 2 || !strings.Contains(said, "20-own.yaml sets server.listen too") {
				t.Errorf("a later file: exit code %d\n%s", code, said)
			}
		})
	}
	t.Run("Unread", func(t *testing.T) {
		path, dropIns := made(t, "etc")
		put(t, dropIns, "20-own.yml", "server: {listen: \"127.0.0.1:9999\"}\n")
		if said, code := runSetup(t, "--config", path); code != 2 || !strings.Contains(said, "20-own.yml: would be ignored") {
			t.Errorf("what the server refuses: exit code %d\n%s", code, said)
		}
		if err := errors.Join(os.Remove(filepath.Join(dropIns, "20-own.yml")), os.Mkdir(filepath.Join(dropIns, "30-more.yaml"), 0o700)); err != nil {
			t.Fatal(err)
		}
		if said, code := runSetup(t, "--config", path); code != 0 {
			t.Errorf("what the server passes over: exit code %d\n%s", code, said)
		}
	})
}

// TestDoctorOfFiles: doctor finds a key that is not the certificate's, and drop-ins that everyone on the machine can read.
func TestDoctorOfFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "wardroom.yaml")
	key := filepath.Join(dir, "tls", "server.key")
	if said, code := runSetup(t, "--config", path, "--listen", "127.0.0.1:8443", "--tls-generate", "localhost"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	check := func(name string) string {
		t.Helper()
		out, err := exec.Command("wardroom", "doctor", "--config", path, "-o", "json").Output()
		if err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		var all struct {
			Checks []struct{ Check, Status, Message string }
		}
		if err := json.Unmarshal(out, &all); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, c := range all.Checks {
			if c.Check == name {
				return c.Status + " " + c.Message
			}
		}
		return ""
	}
	if said := check("certificate"); !strings.Contains(said, "it ends on ") {
		t.Errorf("a whole pair: %s", said)
	}
	_, other := ownCertificate(t, dir, "other", scriptTime().Add(time.Hour))
	if err := os.Rename(other, key); err != nil {
		t.Fatal(err)
	}
	if said := check("certificate"); !strings.Contains(said, "failed") || !strings.Contains(said, "private key does not match") {
		t.Errorf("another's key: %s", said)
	}
	dropIns := filepath.Join(dir, "conf.d")
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Chmod(dropIns, 0o755), os.Chmod(filepath.Join(dropIns, "10-setup.yaml"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if said := check("configuration"); !strings.Contains(said, "10-setup.yaml can be read by everyone") {
		t.Errorf("a drop-in for everyone: %s", said)
	}
	if err := os.Chmod(dropIns, 0o750); err != nil {
		t.Fatal(err)
	}
	if said := check("configuration"); !strings.HasPrefix(said, "ok ") {
		t.Errorf("a directory that others may not enter: %s", said)
	}
}
