package local

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Bounds of a directory of credentials; one that holds more was not meant.
const (
	maxCredentials     = 64
	maxCredentialBytes = 4 << 20
)

// configHome is where a CLI keeps its configuration, below its home. Others get their files in the home itself.
var configHome = map[string]string{"claude": ".claude", "codex": ".codex", "gemini": ".gemini"}

// lend copies the operator's login for a type into a new home, so that one login serves all agents.
func (r *Rooms) lend(agentType string, room agentcli.Room) error {
	source := r.Credentials[agentType]
	if source == "" {
		return nil
	}
	target := filepath.Join(room.Home, configHome[agentType])
	var files []agentcli.File
	total := 0
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		// A symlink is followed only when it is the operator's own way to name a file.
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		total += int(info.Size())
		if len(files) >= maxCredentials || total > maxCredentialBytes {
			return fmt.Errorf("it holds more than %d files or %d bytes", maxCredentials, maxCredentialBytes)
		}
		rest, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files = append(files, agentcli.File{Path: filepath.Join(target, rest), Data: data, Mode: 0o600})
		return err
	})
	if err != nil {
		return &runtime.Error{
			Code: runtime.CodeSpawnFailed, Message: fmt.Sprintf("the credentials for %s cannot be copied: %v", agentType, err),
			Hint: "check credentials." + agentType + " in the runtime's configuration",
		}
	}
	return r.Write(room, files)
}
