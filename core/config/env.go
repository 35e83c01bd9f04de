package config

import (
	"errors"
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// Env is a set of environment variables. The values are secret.
type Env map[string]Secret

// Names returns the names, sorted.
func (e Env) Names() []string { return sortedKeys(e) }

// Reveal returns the variables with their values. Callers hand them to the process that needs them and keep
// no copy.
func (e Env) Reveal() map[string]string {
	vars := make(map[string]string, len(e))
	for name, value := range e {
		vars[name] = value.Reveal()
	}
	return vars
}

// ReadYAML implements schema.NodeReader: it lays variables over what an earlier file said.
func (e *Env) ReadYAML(r *schema.YAML, path string, node *yaml.Node) bool {
	next := Env{}
	maps.Copy(next, *e)
	readSecrets(r, path, node, next, func(name, _ string) error { return checkEnvName(name) })
	if len(next) > 0 {
		*e = next
	}
	return true
}

// check says what is wrong with the name of a variable.
func (e Env) check() error {
	for _, name := range e.Names() {
		if err := checkEnvName(name); err != nil {
			return err
		}
	}
	return nil
}

func checkEnvName(name string) error {
	if !schema.IsVariable(name) {
		return errors.New("is not the name of a variable; use letters, digits and _, and no digit first")
	}
	return nil
}
