package store

import (
	"context"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
)

// patterns has the versions of patterns. The id of one there is its name, escaped, with the version behind it.
var patterns = &table[core.Pattern]{prefix: prefixPattern, kind: "pattern"}

// PutPattern implements core.Tx. It inserts or replaces one version.
func (t *tx) PutPattern(p *core.Pattern) error {
	if p.Name == "" || p.Version == "" {
		return core.Invalid("name", "a pattern has a name and a version")
	}
	if !utf8.ValidString(p.Name) || !utf8.ValidString(p.Version) {
		return core.Invalid("name", "is not valid UTF-8") // the record is JSON, which could not hold it
	}
	key := t.take(func(b []byte) []byte { return appendPatternKey(b, p.Name, p.Version) })
	old, err := t.patternHash(key, p.Name)
	if err != nil {
		return err
	}
	if old != p.Hash {
		if p.Hash != "" {
			t.refer(refDelta{hash: p.Hash, by: 1})
		}
		if old != "" {
			t.refer(refDelta{hash: old, by: -1})
		}
	}
	return t.setJSON(key, p)
}

// DeletePattern implements core.Tx. NOT_FOUND if there is no such version.
func (t *tx) DeletePattern(name, version string) error {
	key := t.take(func(b []byte) []byte { return appendPatternKey(b, name, version) })
	value, err := t.get(key)
	if err != nil {
		return err
	}
	if value == nil {
		return core.NotFound("pattern", name+"@"+version)
	}
	old, err := t.patternHash(key, name)
	if err != nil {
		return err
	}
	if old != "" {
		t.refer(refDelta{hash: old, by: -1})
	}
	t.delete(key)
	return nil
}

// patternHash returns the definition hash of the version stored under key; empty if there is none.
func (t *tx) patternHash(key []byte, name string) (string, error) {
	value, err := t.get(key)
	if err != nil || value == nil {
		return "", err
	}
	var p core.Pattern
	if err := decodeJSON("pattern", name, value, &p); err != nil {
		// It may be replaced and deleted. The definition it referred to stays until a repair counts anew.
		_, err = t.w.s.pass(key, err)
		return "", err
	}
	return p.Hash, nil
}

// FindPatternVersions implements core.Tx.
func (t *tx) FindPatternVersions(name string) ([]*core.Pattern, error) {
	var list []*core.Pattern
	prefix := appendPatternKey(nil, name, "")
	err := t.scan(prefix, func(key, value []byte) error {
		p := new(core.Pattern)
		if err := decodeJSON("pattern", name, value, p); err != nil {
			_, err = t.w.s.pass(key, err)
			return err
		}
		list = append(list, p)
		return nil
	})
	return list, err
}

// AllPatterns implements core.PatternReader. The order is that of names, then of versions as text.
func (s *Store) AllPatterns(ctx context.Context) ([]*core.Pattern, error) {
	return patterns.all(ctx, s)
}
