package threads

import "github.com/wardroom/wardroom/core"

// sealEnv encrypts the environment of a thread; nil for an empty one.
func (s *Service) sealEnv(threadID string, env map[string]string) ([]byte, error) {
	if len(env) == 0 {
		return nil, nil
	}
	return s.seal.Seal(threadID, env)
}

// openEnv decrypts it.
func (s *Service) openEnv(threadID string, sealed []byte) (map[string]string, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	var env map[string]string
	if s.seal.Open(threadID, sealed, &env) {
		return env, nil
	}
	return nil, core.Conflict("thread", threadID, "", "the environment of the thread cannot be read any more: the key that sealed it "+
		"(threads.key) was replaced; spawn the thread again")
}
