package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// signer makes an OpenPGP key, and returns the files of its secret and its public half.
func signer(t *testing.T, name string) (secret, public string) {
	t.Helper()
	if _, err := exec.LookPath("gpg"); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatal("gpg is missing")
		}
		t.Skip("gpg is missing")
	}
	home, err := os.MkdirTemp("", "gpg-") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	gpg := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command("gpg", append([]string{"--homedir", home, "--batch", "--quiet"}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("gpg %v: %v", args, err)
		}
		return out
	}
	gpg("--pinentry-mode", "loopback", "--passphrase", "", "--quick-generate-key", name+" <"+name+"@example.com>", "ed25519", "sign", "never")
	dir := t.TempDir()
	secret, public = filepath.Join(dir, "secret.asc"), filepath.Join(dir, "public.asc")
	for file, flag := range map[string]string{secret: "--export-secret-keys", public: "--export"} {
		if err := os.WriteFile(file, gpg("--armor", flag), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return secret, public
}

// offline makes a bundle of packages that are only names, and unpacks it.
func offline(t *testing.T, key string) string {
	t.Helper()
	out := t.TempDir()
	for _, name := range []string{"wardroom_1.0.0_amd64.deb", "wardroom-runtime-local_1.0.0_amd64.deb", "wardroom-runtime-docker_1.0.0_amd64.deb", "wardroom-sdk_1.0.0_all.deb"} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	images := filepath.Join(t.TempDir(), "agents.tar")
	if err := os.WriteFile(images, []byte("images"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &builder{options: options{root: "../..", out: out, version: "1.0.0", key: key, images: images}, stage: t.TempDir(), epoch: time.Unix(1e9, 0)}
	if err := b.bundle(context.Background(), "amd64"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if text, err := exec.Command("tar", "-C", dir, "-xf", filepath.Join(out, "wardroom-1.0.0-amd64-offline.tar")).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, text)
	}
	return filepath.Join(dir, "wardroom-1.0.0-amd64-offline")
}

// install runs install.sh as installOver does, on a machine that has nothing of Wardroom.
func install(t *testing.T, bundle string, args ...string) (string, error) {
	t.Helper()
	return installOver(t, "", bundle, args...)
}

// installOver runs install.sh where dpkg and docker only print what they would do, on a machine that has packages, in the state that comes before
// the name as in "unpacked/wardroom", or installed.
func installOver(t *testing.T, has, bundle string, args ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	for name, text := range map[string]string{
		"dpkg": "#!/bin/sh\necho dpkg \"$@\"\n", "docker": "#!/bin/sh\necho docker \"$@\"\n",
		"dpkg-query": "#!/bin/sh\nfor name in " + has + "; do case $name in */*) ;; *) name=installed/$name ;; esac; echo ${name%/*} ${name#*/}; done\necho config-files wardroom-secrets\n",
		"uname":      "#!/bin/sh\necho x86_64\n", "id": "#!/bin/sh\necho 0\n",
		"cp": "#!/bin/sh\ncase $2 in /etc/*) echo keep \"$1\" ;; *) exec /bin/cp \"$@\" ;; esac\n",
		"mv": "#!/bin/sh\n", "chmod": "#!/bin/sh\n", // of the key that is kept
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", append([]string{filepath.Join(bundle, "install.sh")}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestBundleIsVerified: what was not made by whose key is given is not installed, and it is told what is wrong.
func TestBundleIsVerified(t *testing.T) {
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		t.Skip("this takes a Debian")
	}
	secret, public := signer(t, "builder")
	otherSecret, otherPublic := signer(t, "other")
	change := func(name string, edit func(text string) string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), []byte(edit(string(text))), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	add := func(s string) string { return s + "x" }
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// forge changes a package and makes checksums that fit.
	forge := func(t *testing.T, dir string) {
		t.Helper()
		change("packages/wardroom_1.0.0_amd64.deb", add)(t, dir)
		cmd := exec.Command("sh", "-c", "find . -type f ! -name 'SHA256SUMS*' -printf '%P\\n' | xargs sha256sum >SHA256SUMS")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for name, c := range map[string]struct {
		sign    string
		tamper  func(t *testing.T, dir string)
		args    []string
		want    string
		refused bool
	}{
		"whole":            {sign: secret, args: []string{"--key", public}, want: "keep " + public},
		"whole, its parts": {sign: secret, args: []string{"--key", public}, want: "dpkg -i packages/wardroom_1.0.0_amd64.deb packages/wardroom-runtime-local_1.0.0_amd64.deb"},
		"not checked":      {sign: secret, want: "signed, which is not checked without --key"},
		"images":           {sign: secret, args: []string{"--key", public, "--images"}, want: "docker load --input images.tar"},
		"package changed":  {sign: secret, tamper: change("packages/wardroom_1.0.0_amd64.deb", add), args: []string{"--key", public}, want: "copy it anew: packages/wardroom_1.0.0_amd64.deb", refused: true},
		"without a key":    {tamper: change("packages/wardroom_1.0.0_amd64.deb", add), want: "copy it anew: packages/wardroom_1.0.0_amd64.deb", refused: true},
		"images changed":   {sign: secret, tamper: change("images.tar", add), args: []string{"--images"}, want: "copy it anew: images.tar", refused: true},
		"file missing":     {sign: secret, tamper: remove("docs/operations.md"), args: []string{"--key", public}, want: "copy it anew: docs/operations.md", refused: true},
		"file added": {sign: secret, tamper: func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, "packages", "wardroom_0.9.0_amd64.deb"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, args: []string{"--key", public}, want: "packages/wardroom_0.9.0_amd64.deb is not of this bundle", refused: true},
		"link added": {sign: secret, tamper: func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "packages", "link")); err != nil {
				t.Fatal(err)
			}
		}, want: "packages/link is not of this bundle", refused: true},
		"forged checksums":  {sign: secret, tamper: forge, args: []string{"--key", public}, want: "was changed after it was signed", refused: true},
		"of somebody else":  {sign: otherSecret, args: []string{"--key", public}, want: "is not by the key in " + public, refused: true},
		"wrong key":         {sign: secret, args: []string{"--key", otherPublic}, want: "is not by the key in " + otherPublic, refused: true},
		"not signed":        {args: []string{"--key", public}, want: "the bundle is not signed", refused: true},
		"signature removed": {sign: secret, tamper: remove("SHA256SUMS.asc"), args: []string{"--key", public}, want: "the bundle is not signed", refused: true},
		"no key there":      {sign: secret, args: []string{"--key", "/nowhere/key.asc"}, want: "/nowhere/key.asc cannot be read", refused: true},
		"no key in it":      {sign: secret, args: []string{"--key", "/etc/debian_version"}, want: "is not by the key in", refused: true},
		"no checksums":      {sign: secret, tamper: remove("SHA256SUMS"), want: "this is not a whole bundle", refused: true},
		"no such package":   {args: []string{"nosuch"}, want: "no package wardroom-nosuch", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := offline(t, c.sign)
			if c.tamper != nil {
				c.tamper(t, dir)
			}
			out, err := install(t, dir, c.args...)
			if !strings.Contains(out, c.want) || (err != nil) != c.refused {
				t.Errorf("%v: %s", err, out)
			}
			if c.refused && (strings.Contains(out, "dpkg -i") || strings.Contains(out, "docker load")) {
				t.Errorf("something was done: %s", out)
			}
		})
	}
}

// TestBundleUpgradesWhatIsThere: packages of plugins need the service of their own version, so those that are installed come along,
// and no other is brought to a machine unless it is named.
func TestBundleUpgradesWhatIsThere(t *testing.T) {
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		t.Skip("this takes a Debian")
	}
	dir := offline(t, "")
	const core, local, docker = " packages/wardroom_1.0.0_amd64.deb", " packages/wardroom-runtime-local_1.0.0_amd64.deb", " packages/wardroom-runtime-docker_1.0.0_amd64.deb"
	const sdk = " packages/wardroom-sdk_1.0.0_all.deb"
	for name, c := range map[string]struct {
		has  string
		args []string
		want string
	}{
		"first":                  {want: core + local},
		"first, without plugins": {args: []string{"none"}, want: core},
		"the service alone":      {has: "wardroom", want: core},
		"with a plugin":          {has: "wardroom wardroom-runtime-docker", want: core + docker},
		"with another one":       {has: "wardroom wardroom-runtime-docker", args: []string{"runtime-local"}, want: core + local + docker},
		"with the same":          {has: "wardroom wardroom-runtime-docker", args: []string{"wardroom-runtime-docker"}, want: core + docker},
		"with none other":        {has: "wardroom wardroom-runtime-local", args: []string{"none"}, want: core + local},
		"that was cut off":       {has: "half-configured/wardroom unpacked/wardroom-runtime-docker", want: core + docker},
		"with the sdk":           {has: "wardroom wardroom-sdk", want: core + sdk},
		"the sdk by name":        {args: []string{"sdk"}, want: core + sdk},
		"of somebody else":       {has: "wardroom wardroom-runtime-theirs", want: core},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := installOver(t, c.has, dir, c.args...)
			if err != nil || !strings.Contains(out, "dpkg -i"+c.want+"\n") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestBundleImages loads the images of a bundle into a real engine, and runs one.
func TestBundleImages(t *testing.T) {
	for _, program := range []string{"dockerd", "docker", "busybox", "curl"} {
		if _, err := exec.LookPath(program); err != nil || os.Geteuid() != 0 {
			if os.Getenv("WARDROOM_REQUIRE_REAL") != "" && os.Geteuid() == 0 {
				t.Fatalf("%s is missing", program)
			}
			t.Skip("this takes root, dockerd, docker, busybox and curl")
		}
	}
	const reference = "wardroom-bundle-test:1"
	dir, err := os.MkdirTemp("", "engine-") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "DOCKER_HOST=unix://"+filepath.Join(dir, "docker.sock"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(name string, args ...string) {
		t.Helper()
		if out, err := run(name, args...); err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := run("../engine/engine.sh", "down", dir); err != nil {
			t.Errorf("the engine does not end: %v: %s", err, out)
		}
		_ = os.RemoveAll(dir)
	})
	must("../engine/engine.sh", "up", dir)
	must("../engine/engine.sh", "image", dir, reference)
	images := filepath.Join(t.TempDir(), "agents.tar")
	must("docker", "save", "--output", images, reference)
	must("docker", "rmi", "--force", reference)
	b := &builder{options: options{root: "../..", out: t.TempDir(), version: "1.0.0", images: images}, stage: t.TempDir(), epoch: time.Unix(1e9, 0)}
	if err := b.bundle(context.Background(), "amd64"); err != nil {
		t.Fatal(err)
	}
	must("sh", filepath.Join(b.stage, "wardroom-1.0.0-amd64-offline", "install.sh"), "--images")
	must("docker", "run", "--rm", "--network", "none", reference, "/bin/sh", "-c", "true")
}
