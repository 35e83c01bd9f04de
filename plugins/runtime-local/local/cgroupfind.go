package local

import (
	"path/filepath"
	"slices"
	"strings"
)

// locate returns the directories of the groups that a process is in, from its mountinfo and its cgroup file: that
// of the unified hierarchy, and those of older hierarchies by controller.
func locate(mountinfo, own string) (unified string, old map[string]string) {
	paths := map[string]string{} // by controller; the unified one is ""
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			if controller != "" || parts[0] == "0" {
				paths[controller] = parts[2]
			}
		}
	}
	old = map[string]string{}
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 6 || len(kind) < 3 {
			continue
		}
		root, mount := fields[3], fields[4]
		join := func(path string) (string, bool) {
			rest, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
			if !ok || strings.HasPrefix(path, "/..") {
				return "", false // mounted from elsewhere, as in a container
			}
			return filepath.Join(mount, rest), true
		}
		switch kind[0] {
		case "cgroup2":
			if path, ok := paths[""]; ok && unified == "" {
				unified, _ = join(path)
			}
		case "cgroup":
			for _, controller := range controllers {
				path, ok := paths[controller]
				if ok && slices.Contains(strings.Split(kind[2], ","), controller) && old[controller] == "" {
					if dir, ok := join(path); ok {
						old[controller] = dir
					}
				}
			}
		}
	}
	return unified, old
}
