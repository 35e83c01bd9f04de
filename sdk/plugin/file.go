package plugin

import (
	"os"
	"path/filepath"
)

// File returns the path of a file that came with the plugin in its package, as the manifest lists them. For a program that
// was started by hand, or was installed without such files, that is the file of this name beside it.
func File(name string) string {
	if dir := os.Getenv(EnvFiles); dir != "" {
		return filepath.Join(dir, name)
	}
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}
