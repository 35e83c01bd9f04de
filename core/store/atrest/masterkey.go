package atrest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keySize is the length of every key, in bytes.
const keySize = 32

// maxKeyText bounds the text of master keys.
const maxKeyText = 64 << 10

// keyPrefix begins the text of a master key: wardroom-store-key-1:ID:KEY, where KEY is in URL-safe base64 without padding and
// ID, eight bytes in hex, follows from it.
const keyPrefix = "wardroom-store-key-1:"

// MasterKey is one that is kept as text.
type MasterKey struct {
	id  string
	key [keySize]byte
}

// NewMasterKey makes one.
func NewMasterKey() MasterKey {
	var k MasterKey
	_, _ = rand.Read(k.key[:]) // never fails
	k.id = keyID(k.key[:])
	return k
}

func keyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("wardroom store key\x00"), key...))
	return hex.EncodeToString(sum[:8])
}

// ID names the key and tells nothing of it.
func (k MasterKey) ID() string { return k.id }

// Text returns the key as it is kept. The caller must not show it.
func (k MasterKey) Text() string {
	return keyPrefix + k.id + ":" + base64.RawURLEncoding.EncodeToString(k.key[:])
}

// String keeps the key out of logs and errors.
func (k MasterKey) String() string { return "master key " + k.id }

// GoString is String.
func (k MasterKey) GoString() string { return k.String() }

// ParseMasterKeys reads a text with one key a line: the first one is used for what is new, the others for what is there.
// Empty lines and those that begin with # count for nothing. Errors show nothing of the text.
func ParseMasterKeys(text []byte) ([]MasterKey, error) {
	var keys []MasterKey
	for n, line := range bytes.Split(text, []byte("\n")) {
		line := strings.TrimSpace(string(line))
		if line == "" || line[0] == '#' {
			continue
		}
		rest, ok := strings.CutPrefix(line, keyPrefix)
		id, encoded, both := strings.Cut(rest, ":")
		key, err := base64.RawURLEncoding.DecodeString(encoded)
		if !ok || !both || err != nil || len(key) != keySize {
			return nil, fmt.Errorf("%w: line %d is no key of `wardroom store key new`", ErrKey, n+1)
		}
		if id != keyID(key) {
			return nil, fmt.Errorf("%w: line %d was changed: the key does not go with its id", ErrKey, n+1)
		}
		keys = append(keys, MasterKey{id, [keySize]byte(key)})
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: there is no key", ErrKey)
	}
	return keys, nil
}

// textSource reads master keys as text, anew each time, so that a key that was added is found without a restart.
type textSource struct {
	name string
	read func() ([]byte, error)
	want string // id that the first key must have, or ""
}

// FromFile reads master keys from a file that only its owner can read. id, unless empty, is that of the first one.
func FromFile(path, id string) KeySource {
	return &textSource{"the file " + path, func() ([]byte, error) { return readKeyFile(path, true) }, id}
}

// FromEnvironment reads them from a variable of the environment.
func FromEnvironment(name, id string) KeySource {
	return &textSource{"the environment variable " + name, func() ([]byte, error) {
		text, ok := os.LookupEnv(name)
		if !ok {
			return nil, errors.New("it is not set")
		}
		return []byte(text), nil
	}, id}
}

// FromCredential reads them from a credential that systemd gives the service (LoadCredential=, LoadCredentialEncrypted=).
func FromCredential(name, id string) KeySource {
	return &textSource{"the systemd credential " + name, func() ([]byte, error) {
		dir := os.Getenv("CREDENTIALS_DIRECTORY")
		if dir == "" {
			return nil, errors.New("the process was started without credentials (CREDENTIALS_DIRECTORY is not set)")
		}
		return readKeyFile(filepath.Join(dir, name), false) // systemd sees to who reads it
	}, id}
}

func readKeyFile(path string, private bool) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it is not there")
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case private && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("others may read it (mode %04o): chmod 600", info.Mode().Perm())
	}
	return io.ReadAll(io.LimitReader(f, maxKeyText))
}

// String implements KeySource.
func (s *textSource) String() string { return s.name }

func (s *textSource) keys() ([]MasterKey, error) {
	text, err := s.read()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrKey, s.name, err)
	}
	keys, err := ParseMasterKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	if s.want != "" && keys[0].id != s.want {
		return nil, fmt.Errorf("%w: %s has key %s first, and keyId says %s", ErrKey, s.name, keys[0].id, s.want)
	}
	return keys, nil
}

// Wrap implements KeySource.
func (s *textSource) Wrap(_ context.Context, key []byte, about string) (Wrapped, error) {
	keys, err := s.keys()
	if err != nil {
		return Wrapped{}, err
	}
	aead := newGCM(keys[0].key[:])
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(key)+aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return Wrapped{keys[0].id, aead.Seal(nonce, nonce, key, []byte(about))}, nil
}

// Unwrap implements KeySource.
func (s *textSource) Unwrap(_ context.Context, w Wrapped, about string) ([]byte, error) {
	keys, err := s.keys()
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range keys {
		if ids = append(ids, keys[i].id); keys[i].id != w.KeyID {
			continue
		}
		aead := newGCM(keys[i].key[:])
		if n := aead.NonceSize(); len(w.Data) > n {
			if key, err := aead.Open(nil, w.Data[:n], w.Data[n:], []byte(about)); err == nil && len(key) == keySize {
				return key, nil
			}
		}
		return nil, fmt.Errorf("%w: what key %s wrapped was changed", ErrKey, w.KeyID)
	}
	return nil, fmt.Errorf("%w: it was encrypted by key %s, and %s has %s", ErrKey, clip(w.KeyID), s.name, strings.Join(ids, ", "))
}

// clip bounds what a file says in an error.
func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), 200)], "?") }

func newGCM(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has blocks of 16 bytes
	}
	return aead
}
