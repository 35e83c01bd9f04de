package agentcli

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/wardroom/wardroom/sdk/internal/durable"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// StateKeySize is the length of Options.StateKey, in bytes.
const StateKeySize = 32

// keyFile is where a runtime that is given no key keeps its own, in StateDir.
const keyFile = "state.key"

// KeyFile reads a key for Options.StateKey from a file of mode 0600, and makes the file if it is not there.
func KeyFile(path string) ([]byte, error) {
	key, err := durable.ReadFile(path, StateKeySize)
	if errors.Is(err, fs.ErrNotExist) {
		key = make([]byte, StateKeySize)
		_, _ = rand.Read(key) // never fails
		if err := durable.WriteFile(path, key, true); err != nil {
			return nil, fmt.Errorf("make the key of the state: %w", err)
		}
		return key, nil
	}
	if err == nil && len(key) != StateKeySize {
		err = fmt.Errorf("%s is no key of %d bytes: remove it to get a new one; agents that have stopped cannot be restarted then", path, StateKeySize)
	}
	return key, err
}

// sealer encrypts what is secret in the records of agents. It is safe for concurrent use.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (*sealer, error) {
	if len(key) != StateKeySize {
		return nil, fmt.Errorf("the key of the state has %d bytes, and needs %d", len(key), StateKeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead}, err
}

// openSealer makes the sealer of a runtime.
func (o *Options) openSealer() (*sealer, error) {
	key := o.StateKey
	if key == nil {
		var err error
		if key, err = KeyFile(filepath.Join(o.StateDir, keyFile)); err != nil {
			return nil, err
		}
	}
	return newSealer(key)
}

// sealContext binds what is sealed to an agent: a record that is put in the place of another one does not open.
func sealContext(id string) []byte { return []byte("wardroom agent " + id) }

// secrets are the parts of a record that are encrypted.
type secrets struct {
	Env      map[string]string `json:"env,omitempty"`      // of the spec
	Declared map[string]string `json:"declared,omitempty"` // of its declared type
	Plan     map[string]string `json:"plan,omitempty"`     // of the plan
}

// split returns a record without its secrets, and those. The record is not changed.
func (r *record) split() (record, secrets) {
	s := secrets{Env: r.Spec.Env, Plan: r.Plan.Env}
	if r.Spec.Declared != nil {
		s.Declared = r.Spec.Declared.Env
	}
	public := *r
	public.Spec, public.Plan.Env = withoutSecrets(r.Spec), nil
	return public, s
}

// join puts secrets into a record, which may share its spec with others.
func (r *record) join(s secrets) {
	r.Spec.Env, r.Plan.Env = s.Env, s.Plan
	if r.Spec.Declared != nil {
		declared := *r.Spec.Declared
		declared.Env = s.Declared
		r.Spec.Declared = &declared
	}
}

func (s *secrets) none() bool { return len(s.Env)+len(s.Declared)+len(s.Plan) == 0 }

// seal encrypts the secrets of an agent; nil where there are none.
func (b *sealer) seal(id string, s secrets) ([]byte, error) {
	if s.none() {
		return nil, nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return b.aead.Seal(nil, nil, data, sealContext(id)), nil
}

// open returns what seal was given.
func (b *sealer) open(id string, sealed []byte) (s secrets, err error) {
	data, err := b.aead.Open(nil, nil, sealed, sealContext(id))
	if err != nil {
		return s, errors.New("it was encrypted under another key, or changed")
	}
	if json.Unmarshal(data, &s) != nil { // its text is a secret
		return s, errors.New("it is of another version")
	}
	return s, nil
}

// errPartial is what a restart gets that needs an environment which is not known.
func errPartial(id string) error {
	e := runtime.Errorf(runtime.CodeInvalidSpec, "the environment of agent %q is not known any more", id)
	e.Hint = "spawn it again with its spec"
	return e
}
