package edge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

const codeInvalidSpec = "INVALID_SPEC"

// workdir makes the directory of a thread, with a clone of its repository. One that is there already is the thread's
// from an earlier try.
func (e *Edge) workdir(ctx context.Context, spec *protocol.ThreadSpawn) (string, error) {
	id := spec.ThreadID
	if id == "" || !filepath.IsLocal(id) || strings.ContainsAny(id, `/\`) || strings.HasPrefix(id, ".") {
		return "", &agent.Error{Code: codeInvalidSpec, Message: "threadId: cannot be the name of a directory"}
	}
	dir := filepath.Join(e.opts.Root, "threads", id)
	if _, err := os.Lstat(dir); err == nil {
		return dir, nil
	}
	if spec.Workspace == nil || spec.Workspace.Repo == "" {
		return dir, unmade(os.MkdirAll(dir, 0o700))
	}
	half := filepath.Join(e.opts.Root, "threads", ".making-"+id)
	if err := os.RemoveAll(half); err != nil {
		return "", unmade(err)
	}
	if err := e.clone(ctx, spec, half); err != nil {
		_ = os.RemoveAll(half) // at worst it is removed by the next try
		return "", err
	}
	return dir, unmade(os.Rename(half, dir))
}

// unmade words an error of the file system for people far away. unmade(nil) is nil.
func unmade(err error) error {
	if err == nil {
		return nil
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err // the paths of this site are private
	}
	return &agent.Error{Code: "WORKSPACE_FAILED", Message: "the thread's directory cannot be made: " + err.Error()}
}

// writeFiles writes the context files of a thread. No symbolic link that leads out of dir is followed, and nothing
// is written into the repository's own directory.
func writeFiles(dir string, files []protocol.ThreadFile) error {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return unmade(err)
	}
	defer func() { _ = root.Close() }() // it was only read
	for i, f := range files {
		if err := checkPath(f.Path); err != nil {
			return &agent.Error{Code: codeInvalidSpec, Message: fmt.Sprintf("contextFiles[%d].path: %v", i, err)}
		}
		if parent := path.Dir(f.Path); parent != "." {
			if err := root.MkdirAll(parent, 0o700); err != nil {
				return unmade(err)
			}
		}
		// A link in the place of the file is not followed.
		if info, err := root.Lstat(f.Path); err == nil && !info.Mode().IsRegular() {
			return &agent.Error{Code: codeInvalidSpec, Message: fmt.Sprintf("contextFiles[%d].path: is something else than a file", i)}
		}
		if err := root.WriteFile(f.Path, []byte(f.Content), 0o600); err != nil {
			return unmade(err)
		}
	}
	return nil
}

// checkPath refuses paths that leave the directory, or lead into a repository's own one.
func checkPath(name string) error {
	if name == "" || strings.ContainsAny(name, "\\\x00") || path.Clean(name) != name || !filepath.IsLocal(name) || name == "." {
		return errors.New("must be a plain path below the workspace, with slashes")
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(strings.TrimRight(part, ". "), ".git") || strings.EqualFold(part, "git~1") {
			return errors.New("must not be below .git")
		}
	}
	return nil
}
