package pluginhost_test

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pluginhost"
)

// key makes a pair of keys and returns the file of the secret one and the public one.
func key(t *testing.T) (file, public string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "key")
	public, err := pluginhost.NewKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, public
}

func noPassword() (string, error) { return "", fmt.Errorf("a password was asked for") }

func TestSignature(t *testing.T) {
	secret, public := key(t)
	otherSecret, otherPublic := key(t)
	data := archive(t, member{name: "manifest.json", data: manifestOf("runtime-pen", binaryText)}, member{name: "runtime-pen", data: binaryText})
	path := file(t, "pen.tar.gz", data)
	read := func(t *testing.T, trust pluginhost.Trust) (*pluginhost.Package, error) {
		t.Helper()
		p, err := pluginhost.ReadPackage(path, t.TempDir(), pluginhost.About{}, trust)
		if p != nil {
			p.Close()
		}
		return p, err
	}
	refused := func(t *testing.T, want string, keys ...string) {
		t.Helper()
		_, err := read(t, pluginhost.Trust{Keys: keys})
		if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	refused(t, "there is no file "+path+".minisig", public)
	signature, by, err := pluginhost.Sign(path, secret, noPassword)
	if err != nil || signature != path+".minisig" || by != public {
		t.Fatalf("signed: %s by %s, %v", signature, by, err)
	}
	if p, err := read(t, pluginhost.Trust{Keys: []string{otherPublic, public}}); err != nil || p.Entry.SignedBy != public {
		t.Errorf("by a trusted key: %+v, %v", p, err)
	}
	if p, err := read(t, pluginhost.Trust{}); err != nil || p.Entry.SignedBy != "" {
		t.Errorf("without trusted keys nothing is checked: %+v, %v", p, err)
	}
	refused(t, "is not one of plugins.trustedKeys", otherPublic)
	refused(t, "is not a public key", "RWQrubbish")

	// Another file under the same signature, and a signature by another key with the id of a trusted one.
	if err := os.WriteFile(path, append(data, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "one of the two was changed", public)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(signature)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := pluginhost.Sign(path, otherSecret, noPassword); err != nil {
		t.Fatal(err)
	}
	var forged, honest minisign.Signature
	other, err := os.ReadFile(signature)
	if err != nil || forged.UnmarshalText(other) != nil || honest.UnmarshalText(text) != nil {
		t.Fatal(err)
	}
	forged.KeyID = honest.KeyID
	for name, text := range map[string][]byte{"Forged": []byte(forged.String()), "Rubbish": []byte("rubbish"), "Empty": nil} {
		if err := os.WriteFile(signature, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(t, pluginhost.Trust{Keys: []string{public}}); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
	// One of another place.
	elsewhere := file(t, "sig", text)
	if _, err := read(t, pluginhost.Trust{Keys: []string{public}, Signature: elsewhere}); err != nil {
		t.Errorf("with the signature elsewhere: %v", err)
	}
}

// A secret key of the minisign program with a password, and files that are no keys.
func TestSignKeys(t *testing.T) {
	// What minisign makes takes a GiB of memory to open, which under the race detector takes minutes; this one says in its head
	// that little is enough.
	const public = "RWTF7NJRUCqGVZol6PYYTpbI+ElZ/tkc46fknpKXh7Sw7r+K33B6jFzO"
	path, keyFile := file(t, "x", []byte("x")), filepath.Join("testdata", "encrypted.key")
	if _, by, err := pluginhost.Sign(path, keyFile, func() (string, error) { return "open", nil }); err != nil || by != public {
		t.Errorf("with the password: %s, %v", by, err)
	}
	if _, _, err := pluginhost.Sign(path, keyFile, func() (string, error) { return "wrong", nil }); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("with another password: %v", err)
	}
	for _, bad := range []string{file(t, "none", []byte("rubbish")), filepath.Join(t.TempDir(), "missing")} {
		if _, _, err := pluginhost.Sign(path, bad, noPassword); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("with %s: %v", bad, err)
		}
	}
	mine, _ := key(t)
	if info, err := os.Stat(mine); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret key is %v, %v", info.Mode(), err)
	}
	if _, err := pluginhost.NewKey(mine); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("over a key: %v", err)
	}
}

// build is a package with a plugin and the file holder beside it.
func build(t *testing.T, version, binary, helper string, protocol int) string {
	t.Helper()
	return buildWith(t, "holder", version, binary, helper, protocol)
}

func buildWith(t *testing.T, name, version, binary, helper string, protocol int) string {
	t.Helper()
	sum := func(text string) string {
		s := sha256.Sum256([]byte(text))
		return hex.EncodeToString(s[:])
	}
	manifest := fmt.Sprintf(`{"format":1,"plugins":[{"name":"runtime-pen","kind":"runtime","version":%q,"sha256":%q,"protocol":%d,"files":[{"name":%q,"sha256":%q}]}]}`,
		version, sum(binary), protocol, name, sum(helper))
	return file(t, "pen.tar.gz", archive(t, member{name: name, data: helper}, member{name: "manifest.json", data: manifest}, member{name: "runtime-pen", data: binary}))
}

func install(t *testing.T, path, dir string) *pluginhost.Package {
	t.Helper()
	p, err := pluginhost.ReadPackage(path, dir, pluginhost.About{}, pluginhost.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Install(); err != nil {
		t.Fatal(err)
	}
	return p
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRollback(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := pluginhost.Rollback(dir, "runtime-pen"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("without any: %v", err)
	}
	install(t, build(t, "1.0.0", "one", "helper one", 1), dir)
	if _, _, err := pluginhost.Rollback(dir, "runtime-pen"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("without a former one: %v", err)
	}
	install(t, build(t, "2.0.0", "two", "helper two", 1), dir)
	helpers := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "files", "*", "holder"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if n := len(helpers()); n != 2 {
		t.Errorf("%d directories of files, want those of both", n)
	}
	for _, want := range [][3]string{{"1.0.0", "2.0.0", "one"}, {"2.0.0", "1.0.0", "two"}, {"1.0.0", "2.0.0", "one"}} {
		now, was, err := pluginhost.Rollback(dir, "runtime-pen")
		if err != nil || now.Version != want[0] || was.Version != want[1] {
			t.Fatalf("rolled back to %+v from %+v, %v", now, was, err)
		}
		m, err := pluginhost.ReadManifest(dir)
		if err != nil || len(m.Plugins) != 1 || m.Plugins[0].Version != want[0] || content(t, filepath.Join(dir, "runtime-pen")) != want[2] {
			t.Errorf("the directory has %+v, %v", m, err)
		}
	}
	install(t, build(t, "3.0.0", "three", "helper three", 1), dir) // over the first
	if n := len(helpers()); n != 2 {
		t.Errorf("%d directories of files, want two", n)
	}
	// An install that dies before its entry is written is made anew: the version before it is still the one to come back to.
	entry := filepath.Join(dir, pluginhost.InstalledDir, "runtime-pen.json")
	before := content(t, entry)
	install(t, build(t, "4.0.0", "four", "helper four", 1), dir)
	if err := os.WriteFile(entry, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	install(t, build(t, "4.0.0", "four", "helper four", 1), dir)
	if now, _, err := pluginhost.Rollback(dir, "runtime-pen"); err != nil || now.Version != "3.0.0" || content(t, filepath.Join(dir, "runtime-pen")) != "three" {
		t.Errorf("rolled back to %+v, %v", now, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "former", "runtime-pen"), []byte("changed"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := pluginhost.Rollback(dir, "runtime-pen"); core.ErrorCode(err) != core.CodeConflict || content(t, filepath.Join(dir, "runtime-pen")) != "three" {
		t.Errorf("to a changed one: %v", err)
	}
}

// A rollback that was killed at any of its steps is taken to its end by the next one, and by an install.
func TestRollbackAfterKill(t *testing.T) {
	const name = "runtime-pen"
	type place struct{ former, entry, binary string }
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := []func(t *testing.T, at place){
		func(t *testing.T, at place) {
			must(t, os.WriteFile(at.former+".back.json", []byte(content(t, at.former+".json")), 0o644))
		},
		func(t *testing.T, at place) { must(t, os.Rename(at.former, at.former+".back")) },
		func(t *testing.T, at place) { must(t, os.Link(at.binary, at.former)) },
		func(t *testing.T, at place) {
			must(t, os.WriteFile(at.former+".json", []byte(content(t, at.entry)), 0o644))
		},
		func(t *testing.T, at place) {
			must(t, os.WriteFile(at.entry, []byte(content(t, at.former+".back.json")), 0o644))
		},
		func(t *testing.T, at place) { must(t, os.Rename(at.former+".back", at.binary)) },
	}
	for n := range len(steps) + 1 {
		killed := func(t *testing.T) string {
			dir := t.TempDir()
			install(t, build(t, "1.0.0", "one", "helper one", 1), dir)
			install(t, build(t, "2.0.0", "two", "helper two", 1), dir)
			at := place{filepath.Join(dir, "former", name), filepath.Join(dir, pluginhost.InstalledDir, name+".json"), filepath.Join(dir, name)}
			for _, step := range steps[:n] {
				step(t, at)
			}
			return dir
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := killed(t)
			for _, want := range [][3]string{{"1.0.0", "2.0.0", "one"}, {"2.0.0", "1.0.0", "two"}} {
				now, was, err := pluginhost.Rollback(dir, name)
				if err != nil || now.Version != want[0] || was.Version != want[1] || content(t, filepath.Join(dir, name)) != want[2] {
					t.Fatalf("rolled back to %s from %s, %v", now.Version, was.Version, err)
				}
			}
			if n == 0 {
				return
			}
			dir = killed(t)
			install(t, build(t, "3.0.0", "three", "helper three", 1), dir)
			if now, was, err := pluginhost.Rollback(dir, name); err != nil || now.Version != "1.0.0" || was.Version != "3.0.0" {
				t.Errorf("after an install: rolled back to %s from %s, %v", now.Version, was.Version, err)
			}
			if _, err := pluginhost.Remove(dir, name); err != nil {
				t.Fatal(err)
			}
			if left, _ := os.ReadDir(filepath.Join(dir, "former")); len(left) > 0 {
				t.Errorf("left in former: %v", left)
			}
		})
	}
}

// A rollback that was killed, and then lost what it needs, does not keep the plugin from being installed anew.
func TestRollbackLost(t *testing.T) {
	const name = "runtime-pen"
	for what, lose := range map[string]func(dir string) error{
		"entry":  func(dir string) error { return os.Remove(filepath.Join(dir, pluginhost.InstalledDir, name+".json")) },
		"binary": func(dir string) error { return os.Remove(filepath.Join(dir, "former", name)) },
		"damage": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "former", name+".back.json"), []byte("{"), 0o644)
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			install(t, build(t, "1.0.0", "one", "helper one", 1), dir)
			install(t, build(t, "2.0.0", "two", "helper two", 1), dir)
			former := filepath.Join(dir, "former", name)
			if err := os.WriteFile(former+".back.json", []byte(content(t, former+".json")), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := lose(dir); err != nil {
				t.Fatal(err)
			}
			if now, _, err := pluginhost.Rollback(dir, name); err == nil {
				t.Errorf("rolled back to %s", now.Version)
			}
			if what == "entry" { // else the binary would be one that is not known
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			install(t, build(t, "3.0.0", "three", "helper three", 1), dir)
			if got := content(t, filepath.Join(dir, name)); got != "three" {
				t.Errorf("installed %q", got)
			}
			if left, _ := filepath.Glob(former + ".back*"); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

func TestPackageFiles(t *testing.T) {
	sum := strings.Repeat("0", 64)
	manifest := func(files string) member {
		return member{name: "manifest.json", data: strings.Replace(manifestOf("runtime-pen", binaryText), `"protocol"`, `"files":[`+files+`],"protocol"`, 1)}
	}
	binary := member{name: "runtime-pen", data: binaryText}
	for _, tt := range []struct {
		name    string
		members []member
		want    string
	}{
		{"Missing", []member{manifest(`{"name":"holder","sha256":"` + sum + `"}`), binary}, "does not hold holder"},
		{"OtherSum", []member{manifest(`{"name":"holder","sha256":"` + sum + `"}`), binary, {name: "holder", data: "x"}}, "its manifest says"},
		{"Path", []member{manifest(`{"name":"../holder","sha256":"` + sum + `"}`), binary}, "is not a name"},
		{"Twice", []member{manifest(`{"name":"runtime-pen","sha256":"` + sum + `"}`), binary}, "is there twice"},
		{"Signed", []member{{name: "manifest.json", data: strings.Replace(manifestOf("runtime-pen", binaryText), `"protocol"`, `"signedBy":"RW","protocol"`, 1)}, binary}, "has no place in a package"},
		{"KindOfName", []member{{name: "manifest.json", data: strings.Replace(manifestOf("runtime-pen", binaryText), `"kind":"runtime"`, `"kind":"secret"`, 1)}, binary}, "is the name of one of kind runtime"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := pluginhost.ReadPackage(file(t, "p.tar.gz", archive(t, tt.members...)), t.TempDir(), pluginhost.About{}, pluginhost.Trust{})
			if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(fmt.Sprint(err, core.AsError(err).Details), tt.want) {
				t.Errorf("error %v %v, want %q", err, core.AsError(err).Details, tt.want)
			}
		})
	}
	many := []member{manifest(""), binary}
	for i := range 20 {
		many = append(many, member{name: fmt.Sprint("f", i), data: "x", kind: tar.TypeReg})
	}
	for i := range many {
		many[i].kind = 0
	}
	if _, err := pluginhost.ReadPackage(file(t, "p.tar.gz", archive(t, many...)), t.TempDir(), pluginhost.About{}, pluginhost.Trust{}); err == nil {
		t.Error("a package of twenty files was taken")
	}
	_, err := pluginhost.ReadPackage(build(t, "1.0.0", "one", "two", 2), t.TempDir(), pluginhost.About{}, pluginhost.Trust{})
	if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "speaks version 2 of the plugin protocol, and this release speaks 1") {
		t.Errorf("of another protocol: %v", err)
	}
}

func TestOlder(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{{"1.0.0", "1.1.0", true}, {"v0.9", "1.0.0-rc1", true}, {"1.1.0", "1.0.0", false}, {"1.0.0", "1.0.0", false}, {"devel", "1.0.0", false}, {"1.0.0", "devel", false}} {
		if got := pluginhost.Older(tt.a, tt.b); got != tt.want {
			t.Errorf("Older(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}
