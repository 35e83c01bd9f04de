package appliance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/workspace"
)

// maxPassword bounds the file of a password in bytes; tokens are a few hundred.
const maxPassword = 64 << 10

// workspaceConfig picks what workspaces need, with the passwords of repositories as their files hold them now.
// VALIDATION_ERROR when a file cannot be used.
func (a *App) workspaceConfig(c *config.Config) (workspace.Config, error) {
	w := c.Threads.Workspaces
	repositories := make(map[string]workspace.Repository, len(c.Threads.Repositories))
	for name, r := range c.Threads.Repositories {
		password, current := r.Password, a.gitPassword(name, r.Password)
		if r.PasswordFile != "" {
			var err error
			if password, err = readPassword(r.PasswordFile); err != nil {
				return workspace.Config{}, core.Invalid("threads.repositories."+name+".passwordFile", "%s", err)
			}
			current = password.Reveal // whatever it looks like
		}
		repository := workspace.Repository{URL: r.URL, Branch: r.Branch, Username: r.Username, SSHKeyFile: r.SSHKeyFile}
		if !password.IsZero() {
			repository.Password = current
		}
		repositories[name] = repository
	}
	return workspace.Config{
		Repositories: repositories, AllowedURLs: w.AllowedURLs, MaxWorkspaces: w.MaxCount, MaxBytes: w.MaxBytes,
		MaxTotalBytes: w.MaxTotalBytes, MaxReleasedBytes: w.MaxReleasedBytes, TTL: w.TTL, ReserveTTL: w.ReserveTTL, FetchTimeout: w.FetchTimeout, CheckoutTimeout: w.CheckoutTimeout,
		Identity:    workspace.Identity{Name: w.Identity.Name, Email: w.Identity.Email},
		AllowCommit: c.Threads.Finish.Commit, AllowPush: c.Threads.Finish.Push, PushBranches: c.Threads.Finish.Branches,
	}, nil
}

// readPassword reads the first line of a file that only its owner may read. The error is for the operator.
func readPassword(path string) (config.Secret, error) {
	info, err := os.Stat(path)
	if err != nil {
		if of, ok := errors.AsType[*fs.PathError](err); ok {
			err = of.Err
		}
		return config.Secret{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	switch {
	case !info.Mode().IsRegular() || info.Size() > maxPassword:
		return config.Secret{}, fmt.Errorf("%s is no file that holds a password", path)
	case info.Mode().Perm()&0o077 != 0:
		return config.Secret{}, fmt.Errorf("%s may be read by others; make its mode 0600", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return config.Secret{}, fmt.Errorf("%s cannot be read", path)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if line = strings.TrimRight(line, "\r"); line == "" {
		return config.Secret{}, fmt.Errorf("%s is empty", path)
	}
	return config.NewSecret(line), nil
}
