package pluginhost

import (
	"maps"
	"sync"
)

// unsafeSet are the files and directories that others could change, as far as starts of plugins met them.
type unsafeSet struct {
	tell Unsafe // nil: paths are not reported

	mu    sync.Mutex // guards paths
	paths map[string]bool
}

// note takes in what a look at a plugin's files found; nil: they are safe.
func (s *unsafeSet) note(f *failure) {
	if s.tell == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.paths, func(path string, _ bool) bool { return ownedSafely(path) == nil })
	if f == nil || f.unsafe == nil || s.paths[f.unsafe.path] {
		return
	}
	if s.paths == nil {
		s.paths = map[string]bool{}
	}
	s.paths[f.unsafe.path] = true
	s.tell(f.unsafe.path, f.unsafe.text, f.hint)
}
