package scaffold

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/wardroom/wardroom/core"
)

// packed is an archive of an sdk.
func packed(t *testing.T, files ...string) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	zipped, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	tarred := tar.NewWriter(zipped)
	for i := 0; i < len(files); i += 2 {
		err = errors.Join(err, tarred.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}))
		_, failed := tarred.Write([]byte(files[i+1]))
		err = errors.Join(err, failed)
	}
	if err := errors.Join(err, tarred.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

const packedModule = "module " + SDKModule + "\n\ngo 1.26\n\nreplace example.com/a/v2 => ./modules/example.com/a/v2\n"

func TestReplaceSDK(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "sdk")
	if err := replaceSDK(dir, packed(t, "go.mod", packedModule, "sdk/a.go", "package sdk\n", "sdk/old.go", "package sdk\n")); err != nil {
		t.Fatal(err)
	}
	if err := replaceSDK(dir, packed(t, "go.mod", packedModule, "sdk/a.go", "package sdk // anew\n")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "sdk", "a.go")); err != nil || !strings.Contains(string(data), "anew") {
		t.Errorf("after the second: %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sdk", "old.go")); err == nil {
		t.Error("a file of the former sdk is left")
	}
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
		t.Errorf("beside the sdk lies %v", left)
	}

	// A damaged archive leaves the former one; a directory of anything else is left alone.
	if err := replaceSDK(dir, strings.NewReader("rubbish")); err == nil {
		t.Error("rubbish was taken for an sdk")
	}
	if _, err := os.Stat(filepath.Join(dir, "sdk", "a.go")); err != nil {
		t.Errorf("the former sdk is gone: %v", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceSDK(other, packed(t, "go.mod", packedModule)); core.AsError(err).Code != core.CodeConflict {
		t.Errorf("into a directory with files: %v", err)
	}
	if err := replaceSDK(filepath.Join(t.TempDir(), "out"), packed(t, "../evil", "x")); err == nil {
		t.Error("a file was written outside of the directory")
	}
}

func TestReplacements(t *testing.T) {
	want := "\nreplace " + SDKModule + " => \"../s d\"\n\n// What the sdk requires lies beside it, so that no module proxy is needed.\n" +
		"replace (\n\texample.com/a/v2 => \"../s d/modules/example.com/a/v2\"\n)\n"
	if got := replacements("../s d", []byte(packedModule)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := replacements("../x", []byte("module m\n\nreplace a => ../elsewhere\n")); strings.Contains(got, "elsewhere") {
		t.Errorf("a replacement of a checkout was taken along: %s", got)
	}
}

// TestBundle takes the sdk that is in this program, which make build put there, to a module.
func TestBundle(t *testing.T) {
	if !HasSDK() {
		if err := WriteSDK(filepath.Join(t.TempDir(), "sdk")); core.AsError(err).Code != core.CodeValidation || !strings.Contains(err.Error(), "make build") {
			t.Errorf("without an sdk: %v", err)
		}
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatal("there is no sdk in bundle; make build puts it there")
		}
		t.Skip("there is no sdk in bundle; make build puts it there")
	}
	dir := filepath.Join(t.TempDir(), "pen")
	if _, err := Module(Options{Name: "pen", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.go", ownSDK + "/go.mod", ownSDK + "/sdk/plugin/main.go", ownSDK + "/docs/plugins.md", ownSDK + "/modules/google.golang.org/grpc/go.mod"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	module, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !strings.Contains(string(module), "\tgoogle.golang.org/grpc => ./"+ownSDK+"/modules/google.golang.org/grpc\n") {
		t.Errorf("go.mod (%v):\n%s", err, module)
	}
}
