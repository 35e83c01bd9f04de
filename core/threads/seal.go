package threads

import (
	"crypto/rand"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// sealEnv encrypts the environment of a thread; nil for an empty one.
func (s *Service) sealEnv(threadID string, env map[string]string) ([]byte, error) {
	if len(env) == 0 {
		return nil, nil
	}
	plain, err := json.Marshal(env)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, s.seal.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return s.seal.Seal(nonce, nonce, plain, []byte(threadID)), nil
}

// openEnv decrypts it.
func (s *Service) openEnv(threadID string, sealed []byte) (map[string]string, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	n := s.seal.NonceSize()
	var env map[string]string
	if len(sealed) > n {
		plain, err := s.seal.Open(nil, sealed[:n], sealed[n:], []byte(threadID))
		if err == nil && json.Unmarshal(plain, &env) == nil {
			return env, nil
		}
	}
	return nil, core.Conflict("thread", threadID, "", "the environment of the thread cannot be read any more: the key that sealed it "+
		"(threads.key) was replaced; spawn the thread again")
}
