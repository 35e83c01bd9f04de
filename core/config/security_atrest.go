package config

import (
	"path/filepath"
	"regexp"
	"strings"
)

// AtRest is how the store is encrypted on disk.
type AtRest struct {
	// Encrypt the store, and dumps and backups of it. A store in clear is encrypted at the next start, for which the disk needs
	// room for a copy. From then on it is opened with its key only.
	Enabled bool `json:"enabled"`
	// Hide the names in keys of the database too: of patterns and people, and metadata of executions. It counts when a store is
	// made or first encrypted, and costs more than the rest of the encryption.
	Names bool `json:"names"`
	// Where the master key is read from, at the start and when keys are changed: the file below, a variable of the
	// environment, or a credential that systemd gives the service.
	Provider string `json:"provider" default:"file" enum:"file,environment,systemd"`
	// Id of the master key, as `wardroom store key new` shows it. Another key is refused. Empty: any key.
	KeyID string `json:"keyId" check:"is=storeKeyId"`
	// File of `wardroom store key new`, which nobody but the user of the service may read. It lies outside of store.path.
	File string `json:"file" check:"path"`
	// Name of the variable of the environment.
	Variable string `json:"variable" default:"WARDROOM_STORE_KEY" check:"is=notEmpty"`
	// Name of the credential (LoadCredential= or LoadCredentialEncrypted= of the unit).
	Credential string `json:"credential" default:"wardroom-store-key" check:"is=entry"`
}

// Providers of the master key.
const (
	KeyFromFile        = "file"
	KeyFromEnvironment = "environment"
	KeyFromSystemd     = "systemd"
)

var storeKeyID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// atRest reports a master key that cannot be found, or protects nothing.
func (r *ruling) atRest() {
	const entry = "security.encryption.atRest"
	a := &r.config.Security.Encryption.AtRest
	switch {
	case a.Enabled && a.Provider == KeyFromFile && a.File == "":
		r.refuse(entry, "file", "is missing: make one with `wardroom store key new FILE`")
	case a.File != "" && within(r.config.Store.Path, a.File):
		r.refuse(entry, "file", "lies in store.path, so that whoever copies the store has its key: put it elsewhere")
	}
}

// within reports whether a path lies in a directory, going by names.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
