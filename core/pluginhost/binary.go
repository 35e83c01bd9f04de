package pluginhost

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	goplugin "github.com/hashicorp/go-plugin"
)

// binary is a file that may be started.
type binary struct {
	path  string
	sum   []byte        // that it must have; nil: any, in development
	entry ManifestEntry // zero: its manifest does not know it
}

// secure makes the comparison that is done last thing before the start.
func (b binary) secure() *goplugin.SecureConfig {
	if b.sum == nil {
		return nil
	}
	return &goplugin.SecureConfig{Checksum: b.sum, Hash: sha256.New()}
}

// path of the binary of a plugin.
func (h *Host) path(s Spec) string {
	if s.Path != "" {
		return s.Path
	}
	return filepath.Join(h.opts.Dir, s.Name)
}

// verify finds out whether a plugin may be started. The manifest is read each time, as an upgrade may have
// replaced it together with the binary.
func (h *Host) verify(s Spec) (binary, *failure) {
	b := binary{path: h.path(s)}
	info, err := os.Stat(b.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, &failure{reason: "there is no file " + b.path, hint: hintInstall}
	case err != nil:
		return b, &failure{reason: b.path + " cannot be looked at: " + lastError(err).Error(), hint: hintInstall}
	case !info.Mode().IsRegular():
		return b, &failure{reason: b.path + " is not a file", hint: hintInstall}
	case info.Mode().Perm()&0o111 == 0:
		return b, &failure{reason: b.path + " is not executable", hint: "run: chmod a+x " + b.path}
	}
	manifest := filepath.Dir(b.path)
	if !h.opts.Dev {
		if err := safe(b.path, filepath.Join(manifest, ManifestFile), filepath.Join(manifest, InstalledDir, s.Name+".json")); err != nil {
			return b, &failure{
				reason: "its files are not safe: " + err.Error(),
				hint:   "plugins run with the rights of this service, so nobody else may be able to change them",
			}
		}
	}
	m, err := ReadManifest(manifest)
	if err != nil {
		return b, &failure{reason: "its manifest cannot be used: " + message(err), hint: hintInstall}
	}
	b.entry, _ = m.Lookup(filepath.Base(b.path))
	if s.Kind != "" && b.entry.Kind != "" && s.Kind != b.entry.Kind {
		return b, &failure{
			reason: fmt.Sprintf("it is of kind %s, and the configuration wants %s", b.entry.Kind, s.Kind),
			hint:   "correct plugins." + s.Name + ".kind, or where the plugin is used",
		}
	}
	sum := s.SHA256
	if sum == "" && !h.opts.Dev {
		sum = b.entry.SHA256
	}
	if sum == "" && !h.opts.Dev {
		return b, &failure{
			reason: fmt.Sprintf("no checksum is known for %s: no manifest in %s names it", b.path, manifest),
			hint:   "install it with wardroom plugin install FILE, or set plugins." + s.Name + ".sha256",
		}
	}
	if sum != "" {
		if b.sum, err = hex.DecodeString(sum); err != nil || len(b.sum) != sha256.Size {
			return b, &failure{reason: "the checksum that was announced is none", hint: "set plugins." + s.Name + ".sha256 to 64 hexadecimal digits"}
		}
	}
	return b, nil
}

// safe makes sure that nobody else can change the binary, its manifests, or the programs beside it: a plugin may
// start one, such as the holder of terminals.
func safe(binary string, manifests ...string) error {
	if err := checkOwner(binary); err != nil {
		return err
	}
	for _, path := range manifests {
		if err := checkOwner(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	entries, err := os.ReadDir(filepath.Dir(binary))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(filepath.Dir(binary), entry.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			continue
		}
		if err := ownedSafely(path); err != nil { // its directory is that of the binary
			return err
		}
	}
	return nil
}

// FileSHA256 returns the checksum of a file as manifests have it.
func FileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read from
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
