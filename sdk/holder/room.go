package holder

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Room is a place with the holder's binary and nothing else that can be relied on, such as a pod of any image: its files are
// written and read, and its use is measured, by that binary. Its methods may be called concurrently, and return what the stream
// returns when that fails.
type Room struct{ Stream Stream }

// LookPath finds a command on the PATH over there. CLI_NOT_FOUND.
func (r Room) LookPath(ctx context.Context, name string) (string, error) {
	var out answer
	if err := out.failed(r.Stream(ctx, nil, &out, "look", name)); err != nil {
		return "", err
	}
	if out.kept.Len() == 0 {
		return "", &runtime.Error{
			Code: runtime.CodeCLINotFound, Message: fmt.Sprintf("there is no command %q where the agent runs", name), Hint: "use an image that has it",
		}
	}
	return out.kept.String(), nil
}

// Write writes files, all of which are absolute. SPAWN_FAILED names the one that cannot be written.
func (r Room) Write(ctx context.Context, files []agentcli.File) error {
	if len(files) == 0 {
		return nil
	}
	var in bytes.Buffer
	var out answer
	for _, file := range files {
		mode := cmp.Or(uint32(file.Mode.Perm()), 0o600)
		if len(file.Data) > wire.MaxFile {
			return runtime.Errorf(runtime.CodeSpawnFailed, "the file %s is larger than %d bytes", file.Path, wire.MaxFile)
		}
		data := file.Data
		for ; len(data) > wire.MaxPayload; data = data[wire.MaxPayload:] {
			if err := wire.Write(&in, wire.FilePart{Data: data[:wire.MaxPayload]}); err != nil {
				return runtime.Errorf(runtime.CodeInternal, "the file %s cannot be sent: %v", file.Path, err)
			}
		}
		if err := wire.Write(&in, wire.File{Path: file.Path, Mode: mode, Keep: file.Keep, Data: data}); err != nil {
			return runtime.Errorf(runtime.CodeSpawnFailed, "the file %s has too long a name", file.Path)
		}
	}
	if err := out.failed(r.Stream(ctx, &in, &out, "put")); err != nil {
		return err
	}
	kind, body, err := wire.NewReader(&out.kept).Next()
	if err != nil || kind != wire.KindDone {
		return cutOff()
	}
	if done, err := wire.ParseDone(body); err != nil || done.Code != wire.CodeOK {
		return runtime.Errorf(runtime.CodeSpawnFailed, "the files of the agent cannot be written: %s", done.Text)
	}
	return nil
}

// ReadFrom reads a part of a file, as agentcli.Room has it.
func (r Room) ReadFrom(ctx context.Context, path string, offset int64, limit int) (data []byte, at int64, err error) {
	part, err := r.part(ctx, path, offset, limit)
	return part.Data, int64(part.Offset), err
}

// ReadFile reads a whole file, of at most 64 MiB, as agentcli.Room has it.
func (r Room) ReadFile(ctx context.Context, path string) ([]byte, error) {
	var all []byte
	for {
		part, err := r.part(ctx, path, int64(len(all)), wire.MaxFile)
		if err != nil {
			return nil, err
		}
		if part.Size > wire.MaxFile {
			return nil, runtime.Errorf(runtime.CodeResourceLimit, "%s is larger than %d bytes", path, wire.MaxFile)
		}
		if all = append(all, part.Data...); len(part.Data) == 0 || uint64(len(all)) >= part.Size {
			return all, nil
		}
	}
}

func (r Room) part(ctx context.Context, path string, offset int64, limit int) (wire.Part, error) {
	var out answer
	err := out.failed(r.Stream(ctx, nil, &out, "get", path, strconv.FormatInt(offset, 10), strconv.Itoa(limit)))
	if err != nil {
		return wire.Part{}, err
	}
	kind, body, err := wire.NewReader(&out.kept).Next()
	switch {
	case err != nil:
		return wire.Part{}, cutOff()
	case kind == wire.KindPart:
		return wire.ParsePart(body)
	case kind != wire.KindDone:
		return wire.Part{}, badHolder(errors.New("unexpected answer"))
	}
	done, err := wire.ParseDone(body)
	if err == nil && done.Code == wire.CodeEnded {
		return wire.Part{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return wire.Part{}, runtime.Errorf(runtime.CodeForbidden, "%s cannot be read: %s", path, done.Text)
}

// Usage measures the container.
func (r Room) Usage(ctx context.Context) (agentcli.Usage, error) {
	var out answer
	if err := out.failed(r.Stream(ctx, nil, &out, "usage")); err != nil {
		return agentcli.Usage{}, err
	}
	kind, body, err := wire.NewReader(&out.kept).Next()
	if err != nil || kind != wire.KindUsage {
		return agentcli.Usage{}, cutOff()
	}
	u, err := wire.ParseUsage(body)
	if err != nil {
		return agentcli.Usage{}, badHolder(err)
	}
	return agentcli.Usage{
		CPU: time.Duration(u.CPU), MemoryBytes: int64(u.Memory), MemoryLimitBytes: int64(u.Limit), PIDs: int(u.PIDs),
		Running: int(u.Running), OutOfMemory: u.Kills > 0,
	}, nil
}
