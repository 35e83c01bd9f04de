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
	"slices"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// binary is a file that may be started.
type binary struct {
	path  string
	sum   []byte        // that it must have; nil: any, in development
	entry ManifestEntry // zero: its manifest does not know it
	files string        // directory of what came with it; empty: nothing did
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
			return b, unsafeFiles(err)
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
	if b.entry.Protocol != 0 && b.entry.Protocol != plugin.ProtocolVersion {
		return b, otherProtocol(b.entry.Protocol)
	}
	if !h.opts.Dev && s.SHA256 == "" && len(h.opts.TrustedKeys) > 0 && b.entry.installed && !h.trusts(b.entry.SignedBy) {
		return b, &failure{
			reason: "none of plugins.trustedKeys signed it, as far as is known since it was installed",
			hint:   "install it again, with its signature, with wardroom plugin install --config FILE; or set plugins." + s.Name + ".sha256",
		}
	}
	if failed := h.verifyFiles(manifest, &b); failed != nil {
		return b, failed
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

// trusts reports whether a key is one of the trusted ones.
func (h *Host) trusts(key string) bool {
	return key != "" && slices.Contains(h.opts.TrustedKeys, key)
}

// verifyFiles makes sure that the files that came with a plugin are those of its manifest.
func (h *Host) verifyFiles(dir string, b *binary) *failure {
	if len(b.entry.Files) == 0 {
		return nil
	}
	b.files = filepath.Join(dir, b.entry.filesDir())
	for _, f := range b.entry.Files {
		path := filepath.Join(b.files, f.Name)
		sum, err := FileSHA256(path)
		if errors.Is(err, fs.ErrNotExist) {
			return &failure{reason: "there is no file " + path + ", which came with it", hint: hintInstall}
		}
		if err != nil {
			return &failure{reason: path + " cannot be read: " + lastError(err).Error(), hint: hintInstall}
		}
		if sum != f.SHA256 && !h.opts.Dev {
			return anotherChecksum(path)
		}
		if err := checkOwner(path); err != nil && !h.opts.Dev {
			return unsafeFiles(err)
		}
	}
	return nil
}

// unsafeFiles is the failure of a plugin that somebody else could change.
func unsafeFiles(err error) *failure {
	f := &failure{
		reason: "its files are not safe: " + err.Error(),
		hint:   "plugins run with the rights of this service, so nobody else may be able to change them",
	}
	errors.As(err, &f.unsafe)
	return f
}

// otherProtocol is the failure of a plugin for another release.
func otherProtocol(version int) *failure {
	return &failure{
		reason: fmt.Sprintf("it speaks version %d of the plugin protocol, and this release speaks %d", version, plugin.ProtocolVersion),
		hint:   hintUpgrade,
	}
}

// safe makes sure that no other user can change the binary, its manifests, or the programs beside it: a plugin may
// start one, such as the holder of terminals. A program with the name of another plugin is none that it starts, and so
// is that one's trouble alone.
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
		if entry.Name() != filepath.Base(binary) && KindOfName(entry.Name()) != "" {
			continue
		}
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
