package appliance

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
)

// maxRunDir is how long the path of the run directory may be: the sockets in it have paths of at most 108 bytes.
const maxRunDir = 48

// checkDirectories makes the directories that the service writes in, and refuses those that it cannot use: what is wrong with
// them is said before anything is written.
func checkDirectories(c *config.Config) error {
	for _, one := range []struct{ key, path string }{
		{"store.path", c.Store.Path},
		{"plugins.stateDir", c.Plugins.StateDir},
		{"threads.root", c.Threads.Root},
		{"RUNTIME_DIRECTORY", os.Getenv("RUNTIME_DIRECTORY")},
	} {
		if one.path == "" {
			continue
		}
		if err := checkDirectory(one.key, one.path); err != nil {
			return err
		}
	}
	// What a command of root may have left: the database says less of that. The file system has a directory of its own where
	// the store is at its root.
	entries, err := os.ReadDir(c.Store.Path)
	if err != nil {
		return core.Errorf(core.CodeConflict, "store.path %s cannot be read", c.Store.Path).WithCause(err)
	}
	for _, entry := range entries {
		path := filepath.Join(c.Store.Path, entry.Name())
		if entry.Name() == "lost+found" || !entry.Type().IsRegular() && !entry.IsDir() || accessible(path, entry.IsDir()) == nil {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // it is gone
		}
		if uid, ok := ownerOf(info); !ok || uid != os.Geteuid() {
			return core.Errorf(core.CodeConflict, "store.path holds %s, which this server cannot use (%s): %s", path, ownership(info), chownHint(c.Store.Path))
		}
	}
	return nil
}

func checkDirectory(key, path string) error {
	made := os.MkdirAll(path, 0o700)
	err := made
	if err == nil {
		err = accessible(path, true)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EROFS):
		return core.Errorf(core.CodeConflict, "%s %s lies on a file system that is mounted read-only: mount it for writing, or name another directory", key, path)
	case errors.Is(err, syscall.ENOTDIR):
		return core.Errorf(core.CodeConflict, "%s %s is no directory: name another one", key, path)
	case made != nil:
		return core.Errorf(core.CodeConflict, "%s %s is not there and cannot be made by this server (user id %d): %s; make it as root and chown it, or name another one",
			key, path, os.Geteuid(), made.Error())
	}
	info, statErr := os.Stat(path)
	if statErr != nil {
		return core.Errorf(core.CodeConflict, "%s %s cannot be looked at", key, path).WithCause(statErr)
	}
	return core.Errorf(core.CodeConflict, "%s %s cannot be used by this server (%s): %s", key, path, ownership(info), chownHint(path)).WithCause(err)
}

// ownership says whose a file is, beside who wants it.
func ownership(info os.FileInfo) string {
	owner := "its owner is not known"
	if uid, ok := ownerOf(info); ok {
		owner = fmt.Sprintf("it belongs to user id %d", uid)
	}
	return fmt.Sprintf("%s with mode %04o, and the server is user id %d", owner, info.Mode().Perm(), os.Geteuid())
}

func chownHint(path string) string {
	return fmt.Sprintf("as root: chown -R %d: %s && chmod u+rwX %s", os.Geteuid(), path, path)
}

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
	paths := []string{c.Store.Path, state, workspaceRoot(c), config.AdminToken(adminPath(c))}
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
