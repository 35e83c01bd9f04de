// Package setting prepares the configuration of a CLI: it looks up an agent's environment and adds keys to JSON
// files that may exist already.
//
// It owns merging, so that what an operator or the CLI itself wrote stays. It does not own which keys a CLI needs:
// the adapters of sdk/agentcli, which call it, do.
package setting

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Lookup returns a variable of the agent's environment: of the spec, or else of the room. An empty value is none.
func Lookup(spec *runtime.Spec, room agentcli.Room, name string) string {
	if v, ok := spec.Env[name]; ok {
		return v
	}
	value := ""
	for _, e := range room.Env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// Find looks for a command, and adds hint to the error of one that is not there. CLI_NOT_FOUND.
func Find(room agentcli.Room, name, hint string) (string, error) {
	if room.LookPath == nil {
		err := runtime.Errorf(runtime.CodeCLINotFound, "this runtime cannot look for commands")
		err.Hint = hint
		return "", err
	}
	found, err := room.LookPath(name)
	if err == nil {
		return found, nil
	}
	missing := runtime.Errorf(runtime.CodeCLINotFound, "the command %q is not installed where the agent would run", name)
	if e, ok := errors.AsType[*runtime.Error](err); ok {
		if e.Code != runtime.CodeCLINotFound {
			return "", e
		}
		*missing = *e
	}
	missing.Hint = cmp.Or(missing.Hint, hint)
	return "", missing
}

// Inside reports whether a path lies in the agent's home, where adapters may write.
func Inside(room agentcli.Room, name string) bool {
	home := path.Clean(room.Home)
	name = path.Clean(name)
	return name == home || strings.HasPrefix(name, strings.TrimSuffix(home, "/")+"/")
}

// Merged returns a JSON file of the agent with add merged into what is there: objects key by key, lists joined
// without doubles, other values replaced. Comments in it, which gemini takes, are lost. Where the file cannot be read it is
// written only if it is missing. SPAWN_FAILED for a file that is no JSON object, which stays as it is.
func Merged(room agentcli.Room, name string, add map[string]any) (agentcli.File, error) {
	file := agentcli.File{Path: name, Mode: 0o600}
	have := map[string]any{}
	if room.ReadFile == nil {
		file.Keep = true
	} else {
		data, err := room.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return file, failed(name, "cannot be read: "+err.Error())
		case len(bytes.TrimSpace(data)) > 0:
			if err := decode(uncommented(data), &have); err != nil {
				return file, failed(name, "is not a JSON object: "+err.Error())
			}
		}
	}
	data, err := json.MarshalIndent(merge(have, add), "", "  ")
	if err != nil {
		return file, failed(name, err.Error())
	}
	file.Data = append(data, '\n')
	return file, nil
}

// uncommented returns JSON without its comments, // to the end of a line and /* */. It goes over bytes and builds nothing: agents can
// write such a file, as deep and long as they like.
func uncommented(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for quoted := false; len(data) > 0; {
		n, end := 1, ""
		switch {
		case quoted && data[0] == '\\':
			n = min(2, len(data))
		case data[0] == '"':
			quoted = !quoted
		case !quoted && bytes.HasPrefix(data, []byte("//")):
			end = "\n"
		case !quoted && bytes.HasPrefix(data, []byte("/*")):
			end = "*/"
		}
		if end == "" {
			out, data = append(out, data[:n]...), data[n:]
			continue
		}
		_, data, _ = bytes.Cut(data[2:], []byte(end))
		out = append(out, ' ')
	}
	return out
}

// decode keeps numbers as they are written.
func decode(data []byte, into *map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if *into == nil {
		return errors.New("null")
	}
	return nil
}

func merge(have, add map[string]any) map[string]any {
	for k, v := range add {
		switch v := v.(type) {
		case map[string]any:
			old, _ := have[k].(map[string]any)
			if old == nil {
				old = map[string]any{}
			}
			have[k] = merge(old, v)
		case []any:
			have[k] = join(have[k], v)
		default:
			have[k] = v
		}
	}
	return have
}

func join(old any, add []any) []any {
	list, _ := old.([]any)
	for _, v := range add {
		if !contains(list, v) {
			list = append(list, v)
		}
	}
	if list == nil {
		list = []any{}
	}
	return list
}

func contains(list []any, v any) bool {
	want, _ := json.Marshal(v)
	for _, have := range list {
		if b, _ := json.Marshal(have); bytes.Equal(b, want) {
			return true
		}
	}
	return false
}

func failed(name, why string) error {
	err := runtime.Errorf(runtime.CodeSpawnFailed, "the agent's file %s %s", name, why)
	err.Hint = "repair or remove the file, and start the agent again"
	return err
}

// JSON returns v as compact JSON, for values that cannot fail.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("setting: %v", err))
	}
	return string(b)
}
