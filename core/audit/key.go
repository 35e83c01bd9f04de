package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/atomicfile"
	"github.com/wardroom/wardroom/sdk/audit/trail"
)

// Files of the key that signs checkpoints, in the directory of the store.
const (
	KeyFile    = "audit.key" // the seed, in hexadecimal digits; mode 0600, and in no dump
	PublicFile = "audit.pub" // what verifies them
)

// OpenKey reads the key in a directory, and makes one at the first start. CONFLICT when others may read it, or it is
// none.
func OpenKey(dir string) (ed25519.PrivateKey, error) {
	path := filepath.Join(dir, KeyFile)
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		seed := make([]byte, ed25519.SeedSize)
		if _, err := rand.Read(seed); err != nil {
			return nil, err
		}
		if err := atomicfile.Write(path, []byte(hex.EncodeToString(seed)+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("make the key of the audit trail: %w", err)
		}
		key, err = readKey(path)
	}
	if err != nil {
		return nil, err
	}
	public := []byte(trail.FormatPublicKey(publicOf(key)) + "\n")
	if have, err := os.ReadFile(filepath.Join(dir, PublicFile)); err == nil && string(have) == string(public) {
		return key, nil
	}
	return key, atomicfile.Write(filepath.Join(dir, PublicFile), public, 0o644)
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func readKey(path string) (ed25519.PrivateKey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the key of the audit trail: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 {
		return nil, core.Errorf(core.CodeConflict, "%s may be read by others; make it a file of mode 0600, or remove it to get a new key", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil {
		return nil, fmt.Errorf("read the key of the audit trail: %w", err)
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, core.Errorf(core.CodeConflict, "%s holds no key of %d bytes; remove it to get a new one", path, ed25519.SeedSize)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
