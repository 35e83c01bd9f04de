package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/secret"
)

// builtin is a provider that reads what the service itself has: of references it takes those of its own name.
type builtin struct {
	name        string
	environ     func(string) (string, bool)
	credentials string // directory; empty: there is none
}

// Resolve implements secret.Provider.
func (b *builtin) Resolve(_ context.Context, refs []secret.Ref, _ secret.Caller) ([]secret.Result, error) {
	results := make([]secret.Result, len(refs))
	for i, ref := range refs {
		data, err := b.read(ref)
		results[i] = secret.Result{Ref: ref, Error: secret.AsError(err)}
		if err == nil {
			results[i].Value = secret.NewValue(data, "", time.Time{})
		}
	}
	return results, nil
}

func (b *builtin) read(ref secret.Ref) ([]byte, error) {
	var data []byte
	var err error
	switch b.name {
	case core.SecretsEnv:
		text, ok := b.environ(ref.Path)
		if !ok {
			return nil, secret.Errorf(secret.CodeNotFound, "the environment of the service has no variable %s", ref.Path)
		}
		return []byte(text), nil
	case core.SecretsCredential:
		if b.credentials == "" {
			return nil, &secret.Error{
				Code: secret.CodeNotConfigured, Message: "the service was given no credentials: $CREDENTIALS_DIRECTORY is not set",
				Hint: "give the unit LoadCredential=" + ref.Path + ":/the/file",
			}
		}
		data, err = readFile(filepath.Join(b.credentials, ref.Path))
	default:
		data, err = readFile(ref.Path)
	}
	if err != nil || ref.Key == "" {
		return data, err
	}
	return member(data, ref.Key)
}

// readFile reads a file. What an editor put at its end is no part of the secret.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, secret.Errorf(secret.CodeNotFound, "there is no file %s", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, secret.Errorf(secret.CodeForbidden, "the service may not read %s", path)
	case err != nil:
		return nil, secret.Errorf(secret.CodeInternal, "%s cannot be opened", path)
	}
	defer func() { _ = f.Close() }() // only read from
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, secret.Errorf(secret.CodeInvalidRef, "%s is no regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxValue+3))
	if err != nil {
		return nil, secret.Errorf(secret.CodeInternal, "%s cannot be read", path)
	}
	text := strings.TrimSuffix(string(data), "\n")
	if len(text) < len(data) {
		text = strings.TrimSuffix(text, "\r")
	}
	return []byte(text), nil
}

// member returns one member of a JSON object: a text as it is, anything else as JSON.
func member(data []byte, key string) ([]byte, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return nil, secret.Errorf(secret.CodeInvalidRef, "it is no JSON object, so it has no key %s", key)
	}
	value, ok := object[key]
	if !ok {
		return nil, secret.Errorf(secret.CodeNotFound, "its JSON has no key %s", key)
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return []byte(text), nil
	}
	return value, nil
}
