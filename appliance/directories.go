package appliance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/core/config"
)

// maxRunDir is how long the path of the run directory may be: the sockets in it have paths of at most 108 bytes.
const maxRunDir = 48

// stateDir is the directory of what plugins keep. By default it lies within that of the store and not beside
// it, because two servers that have their stores side by side must not see each other's agents.
func stateDir(c *config.Config) string {
	if c.Plugins.StateDir != "" {
		return c.Plugins.StateDir
	}
	return filepath.Join(c.Store.Path, "plugins")
}

// runDir returns the directory of sockets: the one that the service manager made, else one in the state
// directory, or, when that path is too long for sockets, a private one among the temporary files whose name
// follows from it, so that the next process finds what this one left running.
func runDir(stateDir string) (string, error) {
	if dir := os.Getenv("RUNTIME_DIRECTORY"); filepath.IsAbs(dir) {
		return dir, nil
	}
	dir := filepath.Join(stateDir, "run")
	if len(dir) > maxRunDir {
		dir = runDirName(runDirSum(stateDir))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the run directory: %w", err)
	}
	return dir, private(dir)
}

// runDirName returns the path of a run directory among the temporary files; sum is runDirSum of its state directory.
func runDirName(sum string) string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("wardroom-%d-%s", os.Getuid(), sum))
}

func runDirSum(stateDir string) string {
	sum := sha256.Sum256([]byte(stateDir))
	return hex.EncodeToString(sum[:6])
}

// privatePaths are what agents must not get at, as far as their runtime can see to that: the store with its keys, the
// state of plugins, sockets, the workspaces of others, the configuration, and the files with secrets that it names.
func (a *App) privatePaths(c *config.Config, state, run string) []string {
	paths := []string{c.Store.Path, state, workspaceRoot(c), filepath.Join(filepath.Dir(adminPath(c)), adminTokenFile)}
	if !temporaryRun(run) { // one that is there holds sockets alone, and lies where all write
		paths = append(paths, run)
	}
	if a.opts.Dev {
		paths = append(paths, a.opts.DataDir)
	} else {
		paths = append(paths, a.opts.ConfigPath, filepath.Join(filepath.Dir(a.opts.ConfigPath), config.DropInDir))
	}
	for _, repository := range c.Threads.Repositories {
		paths = append(paths, repository.PasswordFile, repository.SSHKeyFile)
	}
	if atRest := c.Security.Encryption.AtRest; atRest.Enabled {
		paths = append(paths, atRest.File)
		if auth := atRest.Vault.Auth; atRest.Provider == config.KeyInVault {
			paths = append(paths, auth.TokenFile, auth.SecretIDFile)
		}
		if atRest.Provider == config.KeyFromSystemd {
			paths = append(paths, os.Getenv("CREDENTIALS_DIRECTORY"))
		}
	}
	for _, endpoint := range c.Webhooks.Endpoints {
		paths = append(paths, endpoint.ClientKeyFile)
	}
	var list []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		if whole, err := filepath.Abs(path); err == nil {
			list = append(list, whole)
		}
	}
	return list
}

// pluginDir returns the directory of the plugin binaries.
func pluginDir(configured string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the plugins beside the binary: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Join(filepath.Dir(self), "plugins"), nil
}
