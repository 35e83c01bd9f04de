package workspace

import (
	"cmp"
	"context"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// found is the branch or commit that a name stands for in a remote.
type found struct {
	branch string // as people write it; the default branch when none was asked for
	want
}

// lookup asks a remote what a branch, tag or full commit hash is. A remote answers ls-remote without a lock on the
// mirror, so that any number of callers may ask at the same time; a fetch that finds nothing new costs more.
func (s *Service) lookup(ctx context.Context, rem *remote, note mirrorNote, name string) (found, error) {
	name = cmp.Or(name, rem.branch)
	name = strings.TrimPrefix(strings.TrimPrefix(name, "refs/heads/"), "refs/tags/")
	args := []string{"ls-remote", "--symref", "--quiet", "--", rem.url, "HEAD"}
	if name != "" {
		args = append(args, "refs/heads/"+name, "refs/tags/"+name, "refs/tags/"+name+"^{}")
	}
	limited, cancel := context.WithTimeout(ctx, s.config().FetchTimeout)
	defer cancel()
	out, err := s.git(limited, call{args: args, remote: rem})
	if err != nil {
		return found{}, err
	}
	refs, head := parseRefs(string(out))
	if name == "" {
		branch, ok := strings.CutPrefix(head, "refs/heads/")
		if ok && refs["HEAD"] != "" && checkRef(branch) == nil {
			return found{branch: branch, want: want{hash: refs["HEAD"], ref: head}}, nil
		}
		if refs["HEAD"] != "" { // detached
			return found{branch: refs["HEAD"], want: want{hash: refs["HEAD"]}}, nil
		}
		return found{}, core.Invalid("preparation.workspace.branch",
			"%s has no HEAD: it is empty, or has no default branch; commit to it, or name a branch", rem.url)
	}
	if hash := refs["refs/heads/"+name]; hash != "" {
		return found{branch: name, want: want{hash: hash, ref: "refs/heads/" + name}}, nil
	}
	if hash := refs["refs/tags/"+name]; hash != "" {
		if peeled := refs["refs/tags/"+name+"^{}"]; peeled != "" {
			hash = peeled
		}
		return found{branch: name, want: want{hash: hash, ref: "refs/tags/" + name}}, nil
	}
	if other := refs["HEAD"]; !fullHash.MatchString(name) || other != "" && formatOf(other) != formatOf(name) {
		return found{}, noBranch(rem.url, name)
	}
	// Only having it proves that a commit exists.
	note.Format = formatOf(name)
	w := want{hash: name}
	if err := s.mirrorOf(note).ensure(ctx, rem, w); err != nil {
		return found{}, err
	}
	return found{branch: name, want: w}, nil
}

// parseRefs reads what ls-remote --symref wrote: refs by name, and what HEAD stands for.
func parseRefs(out string) (refs map[string]string, head string) {
	refs = make(map[string]string)
	for line := range strings.Lines(out) {
		value, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if !ok {
			continue
		}
		if target, ok := strings.CutPrefix(value, "ref: "); ok {
			if name == "HEAD" {
				head = target
			}
		} else if fullHash.MatchString(value) {
			refs[name] = value
		}
	}
	return refs, head
}
