package docker

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Modes of a volume.
const (
	modeRead  = "ro"
	modeWrite = "rw"
)

// volume is one that a request asks for.
type volume struct {
	source string // as it is asked for
	real   string // without symlinks
	target string
	write  bool
}

// kept are directories of a container that nothing is mounted on or below.
var kept = []string{"/proc", "/sys", "/dev", inside, "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib"}

// volumes reads and checks the volumes of a spec. INVALID_SPEC names the one that is wrong.
func (l *Launcher) volumes(spec *runtime.Spec) ([]mount.Mount, error) {
	var mounts []mount.Mount
	for i, text := range spec.Volumes {
		bad := func(hint, format string, args ...any) error {
			return &runtime.Error{Code: runtime.CodeInvalidSpec, Field: fmt.Sprintf("volumes[%d]", i), Message: fmt.Sprintf(format, args...), Hint: hint}
		}
		v, err := parseVolume(text)
		if err != nil {
			return nil, bad("write it as HOST_PATH:CONTAINER_PATH:MODE, with ro or rw for MODE", "%v", err)
		}
		if within(v.target, l.rooms.Dir) || within(l.rooms.Dir, v.target) {
			return nil, bad("choose another path in the container", "%s belongs to the rooms of agents", v.target)
		}
		if v.real, err = filepath.EvalSymlinks(v.source); err != nil {
			return nil, bad("name a directory or file of this machine", "%s cannot be found", v.source)
		}
		if why, hint := l.mayMount(&v); why != "" {
			return nil, bad(hint, "%s", why)
		}
		if slices.ContainsFunc(mounts, func(m mount.Mount) bool { return m.Target == v.target }) {
			return nil, bad("", "%s is mounted on twice", v.target)
		}
		mounts = append(mounts, bind(v.real, v.target, !v.write))
	}
	return mounts, nil
}

// parseVolume reads HOST_PATH:CONTAINER_PATH:MODE. Paths are taken as they are: nothing expands them.
func parseVolume(text string) (volume, error) {
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append(parts, modeRead)
	}
	if len(parts) != 3 {
		return volume{}, fmt.Errorf("%.200q has %d parts", text, len(parts))
	}
	v := volume{source: parts[0], target: parts[1], write: parts[2] == modeWrite}
	if parts[2] != modeRead && parts[2] != modeWrite {
		return v, fmt.Errorf("the mode is %.40q", parts[2])
	}
	for _, p := range []string{v.source, v.target} {
		switch {
		case !path.IsAbs(p):
			return v, fmt.Errorf("%.200q is not an absolute path", p)
		case slices.Contains(strings.Split(p, "/"), ".."):
			return v, fmt.Errorf("%.200q has .. in it", p)
		case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return v, fmt.Errorf("%.200q has a control character", p)
		}
	}
	v.source, v.target = path.Clean(v.source), path.Clean(v.target)
	for _, dir := range kept {
		if within(v.target, dir) || within(dir, v.target) {
			return v, fmt.Errorf("nothing can be mounted on %s of a container", v.target)
		}
	}
	return v, nil
}

// mayMount returns why a volume is refused, and what to do; empty if it is not. What it decides by is the real path, so
// that no symlink leads out of what is allowed. Below a root that agents may write to, they may put what they like in place
// of what was checked here before the engine mounts it: such a root is mounted whole.
func (l *Launcher) mayMount(v *volume) (why, hint string) {
	info, err := os.Stat(v.real)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Sprintf("%s is neither a directory nor a file", v.source), "sockets and devices cannot be mounted"
	}
	if own := l.holdsOwn(v.real); own != "" {
		return fmt.Sprintf("%s cannot be given to agents: %s", v.source, own), "choose a directory apart from it"
	}
	mode := ""
	for root, allowed := range l.config.Volumes {
		real, err := filepath.EvalSymlinks(root)
		if err != nil || !within(v.real, real) {
			continue
		}
		if allowed == modeWrite && v.real != real { // whatever a directory above it allows
			return v.source + " is below a directory that agents may write to, which is mounted as a whole only", "ask for " + root
		}
		if mode != modeWrite {
			mode = allowed
		}
	}
	switch {
	case mode == "":
		return v.source + " is in none of the directories that are allowed", "add it to volumes in the runtime's configuration"
	case v.write && mode != modeWrite:
		return v.source + " may only be mounted read-only", "ask for ro, or allow rw in volumes of the runtime's configuration"
	}
	return "", ""
}

// holdsOwn returns why a real path is never mounted: because it is, holds or lies in what belongs to the service, to this
// runtime or to the engine. Empty if nothing is against it.
func (l *Launcher) holdsOwn(real string) string {
	if real == "/" {
		return "it is the whole machine"
	}
	if within(local.RealPath(l.config.Socket), real) || within(l.config.Socket, real) {
		return "the socket of the container engine is in it"
	}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if within(real, dir) {
			return "it belongs to the kernel"
		}
	}
	for _, own := range append([]string{l.config.StateDir, l.rooms.Dir}, l.private...) {
		own = local.RealPath(own)
		if within(own, real) || within(real, own) && !l.rooms.Provided(real) {
			return "it holds, or belongs to, the state of the service"
		}
	}
	return ""
}

// within reports whether a clean path is dir or below it.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// bind is a mount of a path of this machine. What is mounted there later stays outside.
func bind(source, target string, readOnly bool) mount.Mount {
	return mount.Mount{
		Type: mount.TypeBind, Source: source, Target: target, ReadOnly: readOnly,
		BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
	}
}
