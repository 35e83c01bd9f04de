package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

// describeTime is how long a plugin may take to print its version.
const describeTime = 10 * time.Second

// versionLine matches the line that a plugin of the SDK prints for -version.
var versionLine = regexp.MustCompile(`^(\S+) (\S+) \((runtime|secret|audit) plugin, protocol ([0-9]{1,3})\)$`)

// DescribeDir makes the manifest of a directory that was just built: it runs each executable file with -version,
// and leaves out those that are no plugins, which it names in skipped. files are those in it that come with its plugin,
// which is then the only one; none of them is run. It is for the one who builds plugins, never for files from elsewhere.
func DescribeDir(ctx context.Context, dir string, files ...string) (m *Manifest, skipped []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, core.Invalid("directory", "%s cannot be read: %s", dir, lastError(err))
	}
	m = &Manifest{Format: manifestMajor}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 || strings.HasPrefix(entry.Name(), ".") ||
			slices.Contains(files, entry.Name()) {
			continue
		}
		e, err := describe(ctx, filepath.Join(dir, entry.Name()))
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			skipped = append(skipped, entry.Name()+": "+err.Error())
			continue
		}
		m.Plugins = append(m.Plugins, e)
	}
	if err := m.addFiles(dir, files); err != nil {
		return nil, nil, err
	}
	if _, err := ParseManifest(m.Encode()); err != nil {
		return nil, nil, err
	}
	return m, skipped, nil
}

// addFiles lists the files that come with the only plugin of a directory, in order of their names.
func (m *Manifest) addFiles(dir string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	if len(m.Plugins) != 1 {
		return core.Invalid("file", "goes with a directory of one plugin, as a package is; %s has %d", dir, len(m.Plugins))
	}
	for _, name := range slices.Sorted(slices.Values(files)) {
		if !fileName.MatchString(name) { // before it is taken for a path
			return core.Invalid("file", "%q is not the name of a file in the directory; use letters, digits, dot, - and _, at most 63", shorten(name))
		}
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			return core.Invalid("file", "%s cannot be read: %s", path, lastError(err))
		}
		if !info.Mode().IsRegular() {
			return core.Invalid("file", "%s is no regular file", path)
		}
		sum, err := FileSHA256(path)
		if err != nil {
			return err
		}
		m.Plugins[0].Files = append(m.Plugins[0].Files, ManifestFileEntry{Name: name, SHA256: sum})
	}
	return nil
}

// describe makes the entry of one binary.
func describe(ctx context.Context, path string) (ManifestEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-version")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // PORT, or a host's variables, would make it serve
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	printed := strings.TrimSpace(shortenTo(string(out), 1000))
	match := versionLine.FindStringSubmatch(printed)
	const no = "it is no plugin: with -version it "
	switch {
	case ctx.Err() != nil:
		return ManifestEntry{}, errors.New(no + "does not end within " + describeTime.String())
	case err != nil && cmd.ProcessState != nil:
		return ManifestEntry{}, errors.New(no + "ends with " + exitText(err))
	case err != nil:
		return ManifestEntry{}, errors.New("it does not start: " + lastError(err).Error())
	case match == nil:
		return ManifestEntry{}, fmt.Errorf("%sprints %q", no, shorten(printed))
	}
	sum, err := FileSHA256(path)
	if err != nil {
		return ManifestEntry{}, err
	}
	protocol, err := strconv.Atoi(match[4])
	if err != nil {
		return ManifestEntry{}, err
	}
	return ManifestEntry{Name: filepath.Base(path), Kind: match[3], Version: match[2], SHA256: sum, Protocol: protocol}, nil
}

// WriteManifest writes m as the manifest of the plugins that come with a directory.
func WriteManifest(dir string, m *Manifest) error {
	return writeFile(filepath.Join(dir, ManifestFile), m.Encode(), 0o644)
}
