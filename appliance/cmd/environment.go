package cmd

import (
	"bufio"
	"bytes"
	"os"
	"strings"

	"github.com/wardroom/wardroom/core/config"
)

// packagedEnvironment is where the packages have the environment of the service.
const packagedEnvironment = "/etc/default/wardroom"

// loadConfig reads the configuration of a server of this machine.
func loadConfig(path string) (*config.Config, error) {
	return config.Load(path, config.Options{Lookup: serviceEnvironment(path)})
}

// serviceEnvironment finds the variables that a configuration refers to: ours, and for that of the packages those of the
// service's environment file, as far as we may read it.
func serviceEnvironment(path string) config.Lookup {
	if path != packagedConfig {
		return os.LookupEnv
	}
	text, err := os.ReadFile(packagedEnvironment)
	if err != nil {
		return os.LookupEnv
	}
	return environmentOver(text)
}

// environmentOver finds our variables, and then those of an environment file of systemd.
func environmentOver(text []byte) config.Lookup {
	found := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		for _, quote := range []string{`"`, `'`} {
			if inner, begins := strings.CutPrefix(value, quote); begins && len(value) > 1 && strings.HasSuffix(inner, quote) {
				value = strings.TrimSuffix(inner, quote)
				break
			}
		}
		found[strings.TrimSpace(name)] = value
	}
	return func(name string) (string, bool) {
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		value, ok := found[name]
		return value, ok
	}
}
