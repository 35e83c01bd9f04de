package e2e_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// nobody is a user without rights.
const nobody = 65534

// box is a directory with a configuration, for servers of a user without rights that do not start.
type box struct {
	t       *testing.T
	dir     string
	program string
	yaml    string
	env     []string
	uid     uint32
}

func newBox(t *testing.T, yaml string) *box {
	t.Helper()
	if os.Geteuid() != 0 {
		requireReal(t, "another user is taken by root only")
	}
	dir, err := os.MkdirTemp("", "box-") // below it all may pass, as not below t.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, ".wardroom") // the folder of the binary is closed to others
	if err := os.Link(binary, program); err != nil {
		t.Fatal(err)
	}
	return &box{t: t, dir: dir, program: program, yaml: yaml, uid: nobody}
}

func (b *box) path(name string) string { return filepath.Join(b.dir, name) }

// mkdir makes a directory with an owner and a mode.
func (b *box) mkdir(name string, uid int, mode os.FileMode) string {
	b.t.Helper()
	path := b.path(name)
	err := os.MkdirAll(path, 0o755)
	if err == nil {
		err = os.Chown(path, uid, uid)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *box) command(yaml string) *exec.Cmd {
	b.t.Helper()
	config := b.path("wardroom.yaml")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(yaml, "DIR/", b.dir+"/")), 0o644); err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(b.program, "serve", "--config", config)
	cmd.Env = append(append(os.Environ(), "RUNTIME_DIRECTORY=", "HOME="+b.dir), b.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: b.uid, Gid: b.uid}, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// refuses runs a server that is to end with a code and a text.
func (b *box) refuses(code int, want string) {
	b.t.Helper()
	cmd := b.command(b.yaml)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	over := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	if !over.Stop() {
		b.t.Fatalf("it goes on:\n%s", &said)
	}
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(said.String(), strings.ReplaceAll(want, "DIR/", b.dir+"/")) {
		b.t.Errorf("exit code %d, want %d and %q:\n%s", got, code, want, &said)
	}
}

var readyLine = regexp.MustCompile(`ready: http`)

// serves runs a server until it is ready, and then until the function returns.
func (b *box) serves(yaml string, meanwhile func()) {
	b.t.Helper()
	cmd := b.command(yaml)
	log := b.path("log")
	file, err := os.Create(log)
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	defer func() { _ = cmd.Process.Signal(syscall.SIGTERM); <-ended }()
	eventually(b.t, "a server", func() bool {
		text, _ := os.ReadFile(log)
		select {
		case <-ended:
			b.t.Fatalf("it ended:\n%s", text)
		default:
		}
		return readyLine.Match(text)
	})
	meanwhile()
}

const boxed = "server: {listen: '127.0.0.1:0'}\nstore: {path: DIR/data, minFree: 64MiB}\nsecurity: {authentication: {apiKeys: {enabled: true}}}\n"

// TestStoreOnItsOwnDisk: what the file system has at its root, and a file of ours that is read alone, do not keep a server from its start.
func TestStoreOnItsOwnDisk(t *testing.T) {
	b := newBox(t, boxed)
	b.mkdir("data", nobody, 0o700)
	b.mkdir("data/lost+found", 0, 0o700)
	key := b.path("data/own.key")
	if err := os.WriteFile(key, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(key, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	b.serves(b.yaml, func() {})
}

// TestWrongDirectories: a server says which directory it cannot use, whose it is and what to do, and changes nothing.
func TestWrongDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		env  string // RUNTIME_DIRECTORY
		make func(b *box)
		want string
	}{
		"StoreOfRoot": {
			make: func(b *box) { b.mkdir("data", 0, 0o700) },
			want: "store.path DIR/data cannot be used by this server (it belongs to user id 0 with mode 0700, and the server is user id 65534): as root: chown -R 65534: DIR/data",
		},
		"StoreWithoutRights": {
			make: func(b *box) { b.mkdir("data", nobody, 0o500) },
			want: "chmod u+rwX DIR/data",
		},
		"StoreCannotBeMade": {
			make: func(*box) {},
			want: "store.path DIR/data is not there and cannot be made by this server (user id 65534)",
		},
		"StoreIsAFile": {
			make: func(b *box) {
				if err := os.WriteFile(b.path("data"), nil, 0o666); err != nil {
					b.t.Fatal(err)
				}
			},
			want: "store.path DIR/data is no directory",
		},
		"FileOfRoot": {
			make: func(b *box) {
				data := b.mkdir("data", nobody, 0o700)
				if err := os.WriteFile(filepath.Join(data, "MANIFEST"), nil, 0o600); err != nil {
					b.t.Fatal(err)
				}
			},
			want: "store.path holds DIR/data/MANIFEST, which this server cannot use (it belongs to user id 0",
		},
		"StateDirectory": {
			yaml: "plugins: {stateDir: DIR/state}\n",
			make: func(b *box) { b.mkdir("data", nobody, 0o700); b.mkdir("state", 0, 0o700) },
			want: "plugins.stateDir DIR/state cannot be used by this server (it belongs to user id 0",
		},
		"ThreadsRoot": {
			yaml: "threads: {root: DIR/trees}\n",
			make: func(b *box) { b.mkdir("data", nobody, 0o700); b.mkdir("trees", 0, 0o755) },
			want: "threads.root DIR/trees cannot be used by this server (it belongs to user id 0",
		},
		"RunDirectory": {
			env:  "run",
			make: func(b *box) { b.mkdir("data", nobody, 0o700); b.mkdir("run", 0, 0o755) },
			want: "RUNTIME_DIRECTORY DIR/run cannot be used by this server (it belongs to user id 0",
		},
		"ReadOnly": {
			make: func(b *box) { b.mount("data", "") },
			want: "store.path DIR/data lies on a file system that is mounted read-only",
		},
		"BelowReadOnly": {
			yaml: "threads: {root: DIR/disk/trees}\n",
			make: func(b *box) { b.mkdir("data", nobody, 0o700); b.mount("disk", "") },
			want: "threads.root DIR/disk/trees lies on a file system that is mounted read-only",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, boxed+c.yaml)
			if c.env != "" {
				b.env = append(b.env, "RUNTIME_DIRECTORY="+b.path(c.env))
			}
			c.make(b)
			before := names(t, b.dir)
			b.refuses(4, c.want)
			if after := names(t, b.dir); strings.Replace(after, "wardroom.yaml\n", "", 1) != before {
				t.Errorf("it left\n%s\nwhere there was\n%s", after, before)
			}
		})
	}
	t.Run("Configuration", func(t *testing.T) {
		b := newBox(t, boxed)
		b.mkdir("conf.d", 0, 0o700)
		b.refuses(78, "DIR/conf.d: cannot be read: permission denied")
	})
	t.Run("WritableByAll", func(t *testing.T) {
		b := newBox(t, boxed)
		data := b.mkdir("data", nobody, 0o700)
		b.serves(b.yaml, func() {})
		if err := os.Chmod(data, 0o777); err != nil {
			t.Fatal(err)
		}
		b.refuses(4, "everyone may write in it (mode 0777)")
	})
}

// mount puts a file system that is mounted read-only on a directory.
func (b *box) mount(name, options string) {
	b.t.Helper()
	path := b.mkdir(name, nobody, 0o700)
	if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_RDONLY, options); err != nil {
		requireReal(b.t, "no file system can be mounted: %v", err)
	}
	b.t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
}

// names lists what is below a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if at, relErr := filepath.Rel(dir, path); relErr == nil && at != "." {
			list.WriteString(at + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

// TestSetupMakesAKeyForTheService: root makes the first key before the first start, and everything of the store is the service's.
func TestSetupMakesAKeyForTheService(t *testing.T) {
	b := newBox(t, boxed)
	data := b.mkdir("data", nobody, 0o700)
	b.command(b.yaml) // for its configuration
	if err := os.Chown(b.path("wardroom.yaml"), 0, nobody); err != nil {
		t.Fatal(err)
	}
	key := b.path("first.key")
	if out, err := exec.Command(b.program, "setup", "--yes", "--config", b.path("wardroom.yaml"), "--listen", "127.0.0.1:0", "--admin-key", key).CombinedOutput(); err != nil {
		t.Fatalf("setup: %v\n%s", err, out)
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 || info.Size() < 20 {
		t.Errorf("the key: %v, %v", info, err)
	}
	if out, err := exec.Command("find", data, "!", "-user", strconv.Itoa(nobody)).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("not of the service: %s (%v)", out, err)
	}
	b.serves(b.yaml, func() {
		if _, err := os.Stat(filepath.Join(data, "admin.key")); !os.IsNotExist(err) {
			t.Errorf("the first start made another key: %v", err)
		}
	})
}

// TestTakenAlready: a second server on one directory, or on one port, ends and says what has it; the first goes on.
func TestTakenAlready(t *testing.T) {
	t.Run("Port", func(t *testing.T) {
		taken, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		b := newBox(t, strings.Replace(boxed, "127.0.0.1:0", taken.Addr().String(), 1))
		b.mkdir("data", nobody, 0o700)
		b.refuses(4, "cannot listen on "+taken.Addr().String()+": is another process there?")
		if left := names(t, b.path("data")); left != "" {
			t.Errorf("it left %s", left)
		}
	})
	t.Run("Directory", func(t *testing.T) {
		b := newBox(t, boxed)
		b.mkdir("data", nobody, 0o700)
		b.serves(b.yaml, func() {
			before := names(t, b.path("data"))
			second := *b
			second.refuses(4, "is in use by process")
			if after := names(t, b.path("data")); after != before {
				t.Errorf("the second left\n%s\nwhere there was\n%s", after, before)
			}
		})
	})
}

// TestBrokenCertificate: a server does not start with a certificate that it cannot show, and says what is wrong with it.
func TestBrokenCertificate(t *testing.T) {
	b := newBox(t, "server: {listen: '127.0.0.1:0'}\nstore: {path: DIR/data, minFree: 64MiB}\n"+
		"security: {authentication: {apiKeys: {enabled: true}}, mtls: {enabled: true, clientAuth: none, serverCert: DIR/c.crt, serverKey: DIR/c.key}}\n")
	b.mkdir("data", nobody, 0o700)
	write := func(name string, text []byte, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(b.path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(b.path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	cert, key := certificate(t, time.Now().Add(time.Hour))
	_, other := certificate(t, time.Now().Add(time.Hour))
	write("c.key", key, 0o644)
	b.refuses(78, "security.mtls: open DIR/c.crt: no such file")
	write("c.crt", []byte("garbage"), 0o644)
	b.refuses(78, "DIR/c.crt holds no certificate in PEM")
	write("c.crt", cert[:len(cert)/2], 0o644)
	b.refuses(78, "DIR/c.crt holds no certificate in PEM")
	write("c.crt", cert, 0o600)
	b.refuses(78, "security.mtls: open DIR/c.crt: permission denied")
	write("c.crt", cert, 0o644)
	write("c.key", other, 0o644)
	b.refuses(78, "are no pair of a certificate and its private key")
	if left := names(t, b.path("data")); left != "" {
		t.Errorf("what did not start left %s", left)
	}
	write("c.key", key, 0o644)
	b.serves(b.yaml, func() {})

	// One that ended is as good as none: clients would refuse it.
	cert, key = certificate(t, time.Now().Add(-time.Hour))
	write("c.crt", cert, 0o644)
	write("c.key", key, 0o644)
	b.refuses(78, "DIR/c.crt: the certificate ended on ")
}

// certificate returns a certificate that ends at a time, and its key.
func certificate(t *testing.T, end time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-48 * time.Hour), NotAfter: end, DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}
