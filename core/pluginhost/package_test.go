package pluginhost_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pluginhost"
)

// member is one entry of an archive.
type member struct {
	name string
	data string
	kind byte // zero: a plain file
}

func archive(tb testing.TB, members ...member) []byte {
	tb.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o755, Size: int64(len(m.data)), Typeflag: tar.TypeReg}
		if m.kind != 0 {
			h.Typeflag, h.Size, h.Linkname, m.data = m.kind, 0, "/etc/passwd", ""
		}
		if err := w.WriteHeader(h); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(m.data)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

const binaryText = "#!/bin/sh\n"

func manifestOf(name, data string) string {
	sum := sha256.Sum256([]byte(data))
	return fmt.Sprintf(`{"format":1,"plugins":[{"name":%q,"kind":"runtime","version":"1.0.0","sha256":%q,"protocol":1}]}`, name, hex.EncodeToString(sum[:]))
}

func file(tb testing.TB, name string, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

// What a process that died has unpacked goes with a later package; what may still be installed stays.
func TestPackageLeftOver(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".install-old": 25 * time.Hour, ".install-new": time.Hour, "other": 25 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "runtime-pen"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	install(t, build(t, "1.0.0", "one", "helper one", 1), dir)
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".install-new", "files", "manifest.d", "other", "runtime-pen"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("left %v, want %v, %v", names, want, err)
	}
}

// TestInstallUnderAnyUmask: what root installs with the umask of a hardened machine can be read by the service.
func TestInstallUnderAnyUmask(t *testing.T) {
	former := syscall.Umask(0o077)
	defer syscall.Umask(former)
	dir := filepath.Join(t.TempDir(), "opt", "plugins")
	if err := pluginhost.MakeDir(dir); err != nil {
		t.Fatal(err)
	}
	install(t, build(t, "1.0.0", "one", "helper one", 1), dir)
	install(t, build(t, "1.1.0", "two", "helper two", 1), dir) // the one before is kept
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if mode := info.Mode().Perm(); mode&0o044 != 0o044 || entry.IsDir() && mode&0o011 != 0o011 {
			t.Errorf("%s has mode %04o", path, mode)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A place that takes no directory, however often one is made there, is an error.
func TestMakeDirWhereNoneCanBe(t *testing.T) {
	for _, dir := range []string{"", "/proc/plugins", "/proc/plugins/runtime"} {
		if err := pluginhost.MakeDir(dir); err == nil {
			t.Errorf("%q is made", dir)
		}
	}
}

func TestInstallArchive(t *testing.T) {
	dir := t.TempDir()
	path := file(t, "pen.tar.gz", archive(t, member{name: "./", kind: tar.TypeDir}, member{name: "./manifest.json", data: manifestOf("runtime-pen", binaryText)},
		member{name: "runtime-pen", data: binaryText}))
	p, err := pluginhost.ReadPackage(path, dir, pluginhost.About{}, pluginhost.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Entry.Name != "runtime-pen" || !p.Vouched || p.Size != int64(len(binaryText)) {
		t.Errorf("package %+v", p)
	}
	if _, replaces, err := p.Replaces(); replaces || err != nil {
		t.Errorf("replaces %v, %v", replaces, err)
	}
	if err := p.Install(); err != nil {
		t.Fatal(err)
	}
	p.Close()
	info, err := os.Stat(filepath.Join(dir, "runtime-pen"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("binary %v, %v", info, err)
	}
	m, err := pluginhost.ReadManifest(dir)
	if err != nil || len(m.Plugins) != 1 || m.Plugins[0].SHA256 != p.Entry.SHA256 {
		t.Errorf("manifest %+v, %v", m, err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("the directory holds %v", entries)
	}

	again, err := pluginhost.ReadPackage(path, dir, pluginhost.About{}, pluginhost.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if was, replaces, err := again.Replaces(); !replaces || err != nil || was.Version != "1.0.0" {
		t.Errorf("replaces %v %+v, %v", replaces, was, err)
	}
}

func TestInstallRefuses(t *testing.T) {
	good := member{name: "manifest.json", data: manifestOf("runtime-pen", binaryText)}
	binary := member{name: "runtime-pen", data: binaryText}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"Traversal", archive(t, good, member{name: "../runtime-pen", data: binaryText}), "must lie at the top"},
		{"Absolute", archive(t, good, member{name: "/usr/bin/runtime-pen", data: binaryText}), "must lie at the top"},
		{"Folder", archive(t, good, member{name: "bin/runtime-pen", data: binaryText}), "must lie at the top"},
		{"Dots", archive(t, good, member{name: "..", data: binaryText}), "must lie at the top"},
		{"Backslash", archive(t, good, member{name: `..\runtime-pen`, data: binaryText}), "must lie at the top"},
		{"Symlink", archive(t, good, member{name: "runtime-pen", kind: tar.TypeSymlink}), "not a plain file"},
		{"HardLink", archive(t, good, member{name: "runtime-pen", kind: tar.TypeLink}), "not a plain file"},
		{"Device", archive(t, good, member{name: "runtime-pen", kind: tar.TypeChar}), "not a plain file"},
		{"Directory", archive(t, good, member{name: "runtime-pen/", kind: tar.TypeDir}), "not a plain file"},
		{"HiddenName", archive(t, good, member{name: ".bashrc", data: binaryText}), "not a name for a file"},
		{"TwoBinaries", archive(t, good, binary, member{name: "other", data: "x"}), "is not listed in files of its manifest"},
		{"TwoManifests", archive(t, good, good, binary), "holds manifest.json twice"},
		{"TwoOfOneName", archive(t, good, binary, binary), "holds runtime-pen twice"},
		{"NoManifest", archive(t, binary), "must hold manifest.json"},
		{"NoBinary", archive(t, good), "must hold manifest.json"},
		{"Empty", archive(t), "must hold manifest.json"},
		{"OtherName", archive(t, good, member{name: "runtime-quill", data: binaryText}), "does not name exactly one plugin that is in it"},
		{"OtherSum", archive(t, good, member{name: "runtime-pen", data: "changed"}), "its manifest says"},
		{"EmptyBinary", archive(t, good, member{name: "runtime-pen"}), "is empty"},
		{"BadManifest", archive(t, member{name: "manifest.json", data: `{"format":1,"plugins":[{"name":"a b"}]}`}, binary), "the manifest is not valid"},
		{"NotTar", gzipped(t, "text"), "is a damaged archive"},
		{"NotGzip", []byte{0x1f, 0x8b, 0, 0}, "is not a .tar.gz archive"},
		{"CutOff", archive(t, good, binary)[:150], ""},
		{"Text", []byte("hello"), "is neither a .tar.gz archive nor a Go program"},
		{"Nothing", nil, "is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			p, err := pluginhost.ReadPackage(file(t, "runtime-pen", tt.data), dir, pluginhost.About{}, pluginhost.Trust{})
			if p != nil || core.ErrorCode(err) != core.CodeValidation {
				t.Fatalf("package %v, %v", p, err)
			}
			contains(t, core.AsError(err).Message, tt.want)
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func gzipped(tb testing.TB, text string) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// What belongs to the package of Wardroom, or to nobody that is known, is not replaced.
func TestInstallDoesNotReplace(t *testing.T) {
	data := archive(t, member{name: "manifest.json", data: manifestOf("runtime-pen", binaryText)}, member{name: "runtime-pen", data: binaryText})
	for name, prepare := range map[string]func(dir string) error{
		"Shipped": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, pluginhost.ManifestFile), []byte(manifestOf("runtime-pen", "x")), 0o644)
		},
		"Unknown": func(dir string) error { return os.WriteFile(filepath.Join(dir, "runtime-pen"), []byte("mine"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			p, err := pluginhost.ReadPackage(file(t, "p.tar.gz", data), dir, pluginhost.About{}, pluginhost.Trust{})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Install(); core.ErrorCode(err) != core.CodeConflict {
				t.Errorf("install: %v", err)
			}
			p.Close()
			if entries, _ := os.ReadDir(dir); len(entries) != 1 {
				t.Errorf("the directory holds %v", entries)
			}
		})
	}
}

// A first install that was killed before it was recorded is done again.
func TestInstallAfterKill(t *testing.T) {
	dir := t.TempDir()
	path := file(t, "p.tar.gz", archive(t, member{name: "manifest.json", data: manifestOf("runtime-pen", binaryText)}, member{name: "runtime-pen", data: binaryText}))
	if err := os.WriteFile(filepath.Join(dir, "runtime-pen"), []byte(binaryText), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := pluginhost.ReadPackage(path, dir, pluginhost.About{}, pluginhost.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, replaces, err := p.Replaces(); replaces || err != nil {
		t.Errorf("replaces %v, %v", replaces, err)
	}
	if err := p.Install(); err != nil {
		t.Fatal(err)
	}
	if m, err := pluginhost.ReadManifest(dir); err != nil || len(m.Plugins) != 1 || m.Plugins[0].SHA256 != p.Entry.SHA256 {
		t.Errorf("manifest %+v, %v", m, err)
	}
}

// A first install that a full disk cut short leaves nothing in the way of another version. It runs in a process of its own: without
// room for files, the one of all tests could not note what they read, which fails them where results are kept.
func TestInstallAfterFullDisk(t *testing.T) {
	if os.Getenv("TEST_FULL_DISK") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestInstallAfterFullDisk$", "-test.v")
		cmd.Env = append(os.Environ(), "TEST_FULL_DISK=1", "TEST_BUILDS="+filepath.Dir(builds.v1))
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestInstallAfterFullDisk")) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	p, err := pluginhost.ReadPackage(build(t, "1.0.0", "one", "helper one", 1), dir, pluginhost.About{}, pluginhost.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 0, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	err = p.Install()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if core.ErrorCode(err) != core.CodeForbidden {
		t.Fatalf("install on a full disk: %v", err)
	}
	install(t, build(t, "2.0.0", "two", "helper two", 1), dir)
	if data, err := os.ReadFile(filepath.Join(dir, "runtime-pen")); err != nil || string(data) != "two" {
		t.Errorf("the binary is %q, %v", data, err)
	}
}

// An install that was killed once the plugin was recorded, and before its binary was there, is followed by another version.
func TestInstallOverRecorded(t *testing.T) {
	dir := t.TempDir()
	install(t, build(t, "1.0.0", "one", "helper one", 1), dir)
	if err := os.Remove(filepath.Join(dir, "runtime-pen")); err != nil {
		t.Fatal(err)
	}
	install(t, build(t, "2.0.0", "two", "helper two", 1), dir)
	if data, err := os.ReadFile(filepath.Join(dir, "runtime-pen")); err != nil || string(data) != "two" {
		t.Errorf("the binary is %q, %v", data, err)
	}
}

// What root installs with a umask that shuts others out can be read by the user of the service.
func TestInstallUmask(t *testing.T) {
	dir := t.TempDir()
	was := syscall.Umask(0o077)
	install(t, build(t, "1.0.0", "one", "helper one", 1), dir)
	install(t, build(t, "2.0.0", "two", "helper two", 1), dir)
	syscall.Umask(was)
	for _, at := range []string{"manifest.d", "manifest.d/runtime-pen.json", "files", "files/*", "files/*/holder", "former", "runtime-pen"} {
		paths, err := filepath.Glob(filepath.Join(dir, at))
		if err != nil || len(paths) == 0 {
			t.Errorf("%s: %v, %v", at, paths, err)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o044 != 0o044 {
				t.Errorf("%s: %v, %v; others must be able to read it", path, info.Mode(), err)
			}
		}
	}
}

// A plugin that was installed from a file runs.
func TestInstalledRuns(t *testing.T) {
	r := newRig(t).open()
	p, err := pluginhost.ReadPackage(builds.v1, r.dir, pluginhost.About{Name: "runtime-quill"}, pluginhost.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Entry.Kind != "runtime" || p.Entry.Version == "" || p.Vouched {
		t.Errorf("package %+v", p.Entry)
	}
	if err := p.Install(); err != nil {
		t.Fatal(err)
	}
	got, err := r.EnablePlugin(t.Context(), "runtime-quill")
	if err != nil || got.State != core.PluginReady {
		t.Errorf("enable: %+v, %v", got, err)
	}
}

func TestDescribeDir(t *testing.T) {
	r := newRig(t, pen(""))
	r.install("secrets-pen", builds.v2, "", "")
	m, skipped, err := pluginhost.DescribeDir(t.Context(), r.dir)
	if err != nil || len(m.Plugins) != 2 || len(skipped) != 0 {
		t.Fatalf("manifest %+v, skipped %v, %v", m, skipped, err)
	}
	if e := m.Plugins[1]; e.Name != "secrets-pen" || e.Version != "2.0.0" || e.Protocol != 1 || len(e.SHA256) != 64 {
		t.Errorf("entry %+v", e)
	}
	if err := pluginhost.WriteManifest(r.dir, m); err != nil {
		t.Fatal(err)
	}
	again, err := pluginhost.ReadManifest(r.dir)
	if err != nil || len(again.Plugins) != 2 {
		t.Errorf("read back %+v, %v", again, err)
	}
}

func FuzzPackage(f *testing.F) {
	f.Add(archive(f, member{name: "manifest.json", data: manifestOf("runtime-pen", binaryText)}, member{name: "runtime-pen", data: binaryText}))
	f.Add(archive(f, member{name: "../x", data: "y"}))
	f.Add([]byte("\x1f\x8b"))
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(t.TempDir(), "runtime-pen")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := pluginhost.ReadPackage(path, dir, pluginhost.About{}, pluginhost.Trust{})
		if (p == nil) != (err != nil) {
			t.Fatalf("%v with %v", p, err)
		}
		if p != nil {
			if strings.ContainsAny(p.Entry.Name, "/.\\") {
				t.Fatalf("name %q", p.Entry.Name)
			}
			p.Close()
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	})
}
