package appliance

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/core"
)

// Files of the keys that secrets are stored under. They are not in dumps.
const (
	// threadKeyFile holds that of the environment of threads, until their agents have it: a thread whose agent was not
	// started by then fails after a restore.
	threadKeyFile = "threads.key"
	// webhookKeyFile holds that of the secrets of webhooks, which need new ones after a restore without it.
	webhookKeyFile = "webhooks.key"
	// scheduleKeyFile holds that of the environments of threads that schedules start; their targets need to be given anew
	// after a restore without it.
	scheduleKeyFile = "schedules.key"
	// triggerKeyFile holds that of the secrets of triggers and of the environments of threads that they start; after a
	// restore without it each trigger needs another secret.
	triggerKeyFile = "triggers.key"
	// pepperFile holds what the secrets of API keys are hashed under, which need to be made anew after a restore without it.
	pepperFile = "keys.pepper"
)

// sealKey reads the key in a directory, and makes one at the first start. CONFLICT when others may read it, or it is
// no key.
func sealKey(dir, name string) (key [32]byte, err error) {
	path := filepath.Join(dir, name)
	key, err = readSealKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := writeSealKey(path); err != nil {
		return key, fmt.Errorf("make the key %s: %w", name, err)
	}
	return readSealKey(path)
}

func readSealKey(path string) (key [32]byte, err error) {
	text, err := readPrivate(path, int64(len(key))+1)
	if err != nil {
		return key, err
	}
	if len(text) != len(key) {
		return key, core.Errorf(core.CodeConflict, "%s is no key of %d bytes; remove it to get a new one", path, len(key))
	}
	return [32]byte(text), nil
}

// readPrivate reads the beginning of a file. CONFLICT when others than this user may read it.
func readPrivate(path string, limit int64) ([]byte, error) {
	// The file that is looked at is the one that is read, whatever happens to the path meanwhile.
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, fmt.Errorf("open the key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at the key: %w", err)
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 {
		return nil, core.Errorf(core.CodeConflict, "%s may be read by others; make it a file of mode 0600, or remove it to get a new key", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	return text, nil
}

// writeSealKey makes a key.
func writeSealKey(path string) error {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	return writePrivate(path, key)
}

// writePrivate makes or replaces a file that is there wholly or not at all, for this user alone.
func writePrivate(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
