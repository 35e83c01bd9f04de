package config

import (
	"path/filepath"
	"strings"
)

// AdminToken returns the path of the token of an admin socket: beside it, and called after it, as several servers may have
// their sockets in one directory. That of admin.sock is admin.token.
func AdminToken(socket string) string {
	return filepath.Join(filepath.Dir(socket), strings.TrimSuffix(filepath.Base(socket), ".sock")+".token")
}
