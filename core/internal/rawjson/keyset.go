package rawjson

// KeySet finds doubles among the keys of one object. Small objects are compared key by key, which needs
// no memory; beyond that a map takes over, so that a hostile object cannot make the check quadratic. The
// zero value is empty and ready; a set is not safe for concurrent use.
type KeySet struct {
	few  [8][]byte
	n    int
	many map[string]struct{}
}

// Add returns false if the key, without quotes and escapes, is there already. The set keeps key: it must
// not change while the set is in use.
func (s *KeySet) Add(key []byte) bool {
	if s.many != nil {
		if _, ok := s.many[string(key)]; ok {
			return false
		}
		s.many[string(key)] = struct{}{}
		return true
	}
	for _, k := range s.few[:s.n] {
		if string(k) == string(key) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = key
		s.n++
		return true
	}
	s.many = make(map[string]struct{}, 4*len(s.few))
	for _, k := range s.few {
		s.many[string(k)] = struct{}{}
	}
	s.many[string(key)] = struct{}{}
	return true
}
