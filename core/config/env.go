package config

import (
	"errors"
	"sort"
)

// Env is a set of environment variables. The values are secret.
type Env map[string]Secret

// Names returns the names, sorted.
func (e Env) Names() []string {
	names := make([]string, 0, len(e))
	for name := range e {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Reveal returns the variables with their values. Callers hand them to the process that needs them and keep
// no copy.
func (e Env) Reveal() map[string]string {
	vars := make(map[string]string, len(e))
	for name, value := range e {
		vars[name] = value.Reveal()
	}
	return vars
}

func (e Env) equal(other Env) bool {
	if len(e) != len(other) {
		return false
	}
	for name, value := range e {
		if was, ok := other[name]; !ok || !value.Equal(was) {
			return false
		}
	}
	return true
}

func checkEnvName(name string) error {
	if !validName(name) {
		return errors.New("is not the name of a variable; use letters, digits and _, and no digit first")
	}
	return nil
}
