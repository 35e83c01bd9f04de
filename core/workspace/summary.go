package workspace

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core/internal/clip"
)

const (
	maxSummaries = 64
	maxNameBytes = 255 // of one component; what file systems take
	maxPathBytes = 3500
	maxNamed     = 5 // names that a warning spells out
)

// treeSummary is what is known of a commit's files before they are checked out. It is never changed.
type treeSummary struct {
	bytes      int64 // on disk; 0 when the sizes are not here, in a partial clone
	attributes []string
	submodules []gitlink
	refused    []string // paths that no file system takes; they are left out
	warnings   []string
}

type gitlink struct {
	path string
	hash string
}

// summary looks through the files of a commit. Commits do not change, so it is remembered.
func (m *mirror) summary(ctx context.Context, hash string) (*treeSummary, error) {
	key := m.key + " " + hash
	m.s.mu.RLock()
	known := m.s.trees[key]
	m.s.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	args := []string{"ls-tree", "-r", "-z", "--full-tree"}
	if m.Filter == "" {
		args = append(args, "-l") // of a partial clone it would fetch every file
	}
	out, err := m.git(ctx, nil, append(args, hash)...)
	if err != nil {
		return nil, err
	}
	sum := readTree(out)
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if len(m.s.trees) >= maxSummaries {
		clear(m.s.trees)
	}
	m.s.trees[key] = sum
	return sum, nil
}

// readTree reads what ls-tree -r -z [-l] wrote: "mode type hash [size]\tpath\0".
func readTree(out []byte) *treeSummary {
	sum := &treeSummary{}
	lower := make(map[string]string) // lower case to the first spelling, of files and directories
	collisions := make(map[string]bool)
	lastDir := ""
	for len(out) > 0 {
		entry, rest, _ := bytes.Cut(out, []byte{0})
		out = rest
		head, name, ok := strings.Cut(string(entry), "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) < 3 {
			continue
		}
		if len(fields) > 3 {
			if size, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
				sum.bytes += blocks(size)
			}
		}
		if fields[0] == "160000" {
			sum.submodules = append(sum.submodules, gitlink{path: name, hash: fields[2]})
		}
		if path.Base(name) == ".gitattributes" {
			sum.attributes = append(sum.attributes, name)
		}
		if longName(name) {
			sum.refused = append(sum.refused, name)
		}
		folded := strings.ToLower(name)
		if first, ok := lower[folded]; ok && first != name {
			collisions[first], collisions[name] = true, true
		}
		lower[folded] = name
		// Files come sorted: the directories of the file before were seen.
		for dir := path.Dir(name); dir != "." && dir != lastDir; dir = path.Dir(dir) {
			folded := strings.ToLower(dir)
			if first, ok := lower[folded]; ok {
				if first == dir {
					break
				}
				collisions[first], collisions[dir] = true, true
			}
			lower[folded] = dir
		}
		lastDir = path.Dir(name)
	}
	sum.warn(collisions)
	return sum
}

func (t *treeSummary) warn(collisions map[string]bool) {
	if len(collisions) > 0 {
		names := slices.Sorted(maps.Keys(collisions))
		t.warnings = append(t.warnings, fmt.Sprintf("names that differ only by case, of which some file systems keep one only: %s", listed(names)))
	}
	if len(t.refused) > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf("files with names that are too long for the file system were left out: %s", listed(t.refused)))
	}
}

func longName(name string) bool {
	return len(name) > maxPathBytes ||
		slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return len(part) > maxNameBytes })
}

// listed spells out the first few names.
func listed(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i == maxNamed {
			fmt.Fprintf(&b, " and %d more", len(names)-maxNamed)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if len(name) > 80 {
			name = clip.Text(name, 77) + "..."
		}
		b.WriteString(strings.ToValidUTF8(name, "?"))
	}
	return b.String()
}
