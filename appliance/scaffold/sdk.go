package scaffold

import (
	"archive/tar"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/wardroom/wardroom/core"
)

// bundle holds the archive of the sdk in a program that make build made, and nothing of use in any other.
//
//go:embed bundle
var bundle embed.FS

const bundled = "bundle/sdk.tar.zst"

// HasSDK reports whether this program has the sdk inside.
func HasSDK() bool {
	_, err := fs.Stat(bundle, bundled)
	return err == nil
}

// openSDK opens the archive of the sdk. VALIDATION_ERROR in a program that has none.
func openSDK() (io.ReadCloser, error) {
	f, err := bundle.Open(bundled)
	if err != nil {
		return nil, core.Invalid("sdk", "is not in this program, which make build did not build; name a directory that has it, such as a copy of the repository")
	}
	return f, nil
}

// WriteSDK writes the sdk that is in this program to dir, which does not exist, is empty, or has an earlier one, whose
// place it takes. CONFLICT for any other; VALIDATION_ERROR in a program that has no
// sdk inside.
func WriteSDK(dir string) error {
	archive, err := openSDK()
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }() // only read from
	return replaceSDK(dir, archive)
}

// replaceSDK unpacks an archive of the sdk beside dir and puts it in its place.
func replaceSDK(dir string, archive io.Reader) error {
	former := ""
	if _, err := readModule(dir); err == nil {
		former = filepath.Clean(dir) + ".former"
		if _, err := os.Lstat(former); err == nil {
			return core.Conflict("directory", former, "", "%s is in the way; remove it first", former)
		}
	}
	return write(dir, func(temp string) error {
		if err := UnpackSDK(archive, temp); err != nil || former == "" {
			return err
		}
		return os.Rename(dir, former)
	}, former)
}

// UnpackSDK unpacks an archive of the sdk, such as this program has inside, into an existing directory.
func UnpackSDK(archive io.Reader, dir string) error {
	unzipped, err := zstd.NewReader(archive, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer unzipped.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // what is in it was closed
	files := tar.NewReader(unzipped)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the sdk in this program is damaged: %w", err)
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return fmt.Errorf("the sdk in this program is damaged: %w", err)
		}
		if err := root.MkdirAll(filepath.Dir(h.Name), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(h.Name, data, 0o644); err != nil {
			return err
		}
	}
}

// bundledModule returns the go.mod of the sdk in this program.
func bundledModule() ([]byte, error) {
	archive, err := openSDK()
	if err != nil {
		return nil, err
	}
	defer func() { _ = archive.Close() }() // only read from
	unzipped, err := zstd.NewReader(archive, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer unzipped.Close()
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("the sdk in this program is damaged: %w", err)
		}
		if h.Name == "go.mod" {
			return io.ReadAll(files)
		}
	}
}

// readModule returns the go.mod of a directory with the sdk. VALIDATION_ERROR for any other directory.
func readModule(dir string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !sdkForm.Match(data) {
		return nil, core.Invalid("sdk", "%s has no go.mod of the module %s", dir, SDKModule)
	}
	if info, err := os.Stat(filepath.Join(dir, "sdk")); err != nil || !info.IsDir() {
		return nil, core.Invalid("sdk", "%s has no directory sdk; name the directory above it", dir)
	}
	return data, nil
}

// broughtForm is a module that lies in the directory of an sdk, as its go.mod says.
var broughtForm = regexp.MustCompile(`(?m)^replace (\S+) => \./(modules/\S+)$`)

// replacements returns the lines of a go.mod that has the sdk, and the modules that it brings along, below path.
func replacements(path string, sdkModule []byte) string {
	quoted := func(path string) string {
		if strings.ContainsAny(path, " \t\"'`,()[]") {
			return fmt.Sprintf("%q", path)
		}
		return path
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nreplace %s => %s\n", SDKModule, quoted(path))
	if brought := broughtForm.FindAllSubmatch(sdkModule, -1); len(brought) > 0 {
		b.WriteString("\n// What the sdk requires lies beside it, so that no module proxy is needed.\nreplace (\n")
		for _, match := range brought {
			fmt.Fprintf(&b, "\t%s => %s\n", match[1], quoted(path+"/"+string(match[2])))
		}
		b.WriteString(")\n")
	}
	return b.String()
}
