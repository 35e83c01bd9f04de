package pluginhost

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aead.dev/minisign"

	"github.com/wardroom/wardroom/core"
)

// SignatureSuffix is the suffix of the file with the detached signature of another, as minisign has it.
const SignatureSuffix = ".minisig"

// maxSignature bounds the file of a signature, in bytes.
const maxSignature = 16 << 10

// Trust says by whom packages must be signed.
type Trust struct {
	Keys      []string // public keys of minisign, as base64 text; none: a package needs no signature
	Signature string   // file of the signature; empty: the package's name with SignatureSuffix
}

// parseKeys reads public keys. VALIDATION_ERROR names the one that is none.
func parseKeys(texts []string) ([]minisign.PublicKey, error) {
	keys := make([]minisign.PublicKey, len(texts))
	for i, text := range texts {
		if err := keys[i].UnmarshalText([]byte(text)); err != nil {
			return nil, core.Invalid(fmt.Sprintf("trustedKeys[%d]", i), "is not a public key of minisign, 56 characters of base64 that begin with RW")
		}
	}
	return keys, nil
}

// signedBy returns the key that signed what r has read, in the form that manifests have; empty: none of the keys, when
// none is asked for. VALIDATION_ERROR says what is wrong with the signature.
func (t Trust) signedBy(path string, keys []minisign.PublicKey, r *minisign.Reader) (string, error) {
	if len(keys) == 0 {
		return "", nil
	}
	file := cmp.Or(t.Signature, path+SignatureSuffix)
	bad := func(format string, args ...any) (string, error) {
		return "", core.Invalid("signature", format, args...)
	}
	data, err := readBounded(file, maxSignature)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad("there is no file %s, and plugins.trustedKeys wants one by a key of its own", file)
	case err != nil:
		return bad("%s cannot be read: %s", file, lastError(err))
	}
	var s minisign.Signature
	if err := s.UnmarshalText(data); err != nil {
		return bad("%s is not a signature of minisign", file)
	}
	if s.Algorithm != minisign.HashEdDSA {
		return bad("%s is of the form that minisign had before version 0.10; sign the file anew", file)
	}
	at := slices.IndexFunc(keys, func(key minisign.PublicKey) bool { return key.ID() == s.KeyID })
	if at < 0 {
		return bad("%s is by the key %016X, which is not one of plugins.trustedKeys", file, s.KeyID)
	}
	if !r.Verify(keys[at], data) {
		return bad("%s is not the signature of %s: one of the two was changed", file, filepath.Base(path))
	}
	return keys[at].String(), nil
}

// NewKey makes a pair of keys: the secret one in the file at path, readable by its owner only and without a password,
// the public one beside it with the suffix .pub. It returns the public key. CONFLICT when one of the files is there.
func NewKey(path string) (string, error) {
	public, secret, err := minisign.GenerateKey(nil)
	if err != nil {
		return "", core.Errorf(core.CodeInternal, "no key could be made").WithCause(err)
	}
	secretText, err := secret.MarshalText()
	if err != nil {
		return "", core.Errorf(core.CodeInternal, "the key could not be written").WithCause(err)
	}
	publicText, err := public.MarshalText()
	if err != nil {
		return "", core.Errorf(core.CodeInternal, "the key could not be written").WithCause(err)
	}
	for _, file := range []struct {
		path string
		text []byte
		mode os.FileMode
	}{{path, secretText, 0o600}, {path + ".pub", publicText, 0o644}} {
		if err := create(file.path, append(file.text, '\n'), file.mode); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return "", core.Conflict("file", file.path, "", "%s is there; a key is never written over", file.path)
			}
			return "", core.Invalid("file", "%s cannot be written: %s", file.path, lastError(err))
		}
	}
	return public.String(), nil
}

// create writes a file that is not there yet.
func create(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// Sign writes the signature of the file at path beside it, by the secret key in keyFile, and returns its path and the
// public key. password is asked for when the key is encrypted.
func Sign(path, keyFile string, password func() (string, error)) (signature, public string, err error) {
	data, err := readBounded(keyFile, maxSignature)
	if err != nil {
		return "", "", core.Invalid("key", "%s cannot be read: %s", keyFile, lastError(err))
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(data) {
		text, err := password()
		if err != nil {
			return "", "", err
		}
		if key, err = minisign.DecryptKey(text, data); err != nil {
			return "", "", core.Invalid("key", "%s cannot be opened with this password", keyFile)
		}
	} else if err := key.UnmarshalText(data); err != nil {
		return "", "", core.Invalid("key", "%s is not a secret key of minisign", keyFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", "", core.Invalid("file", "%s cannot be read: %s", path, lastError(err))
	}
	defer func() { _ = f.Close() }() // only read from
	r := minisign.NewReader(f)
	if _, err := io.Copy(io.Discard, r); err != nil {
		return "", "", core.Invalid("file", "%s cannot be read: %s", path, lastError(err))
	}
	name := filepath.Base(path)
	text := r.SignWithComments(key, "file:"+name, "signature of "+name)
	if err := writeFile(path+SignatureSuffix, append(text, '\n'), 0o644); err != nil {
		return "", "", core.Invalid("file", "%s cannot be written: %s", path+SignatureSuffix, lastError(err))
	}
	pub, ok := key.Public().(minisign.PublicKey)
	if !ok {
		return "", "", core.Errorf(core.CodeInternal, "the key has no public part")
	}
	return path + SignatureSuffix, pub.String(), nil
}
