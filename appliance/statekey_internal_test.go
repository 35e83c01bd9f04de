package appliance

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
)

// The keys of plugins are the same at each start, whether the store is in clear, gets encrypted, or has another master key, and
// differ from each other.
func TestStateKeys(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	path := filepath.Join(dir, stateKeyFile)
	first, second := atrest.NewMasterKey(), atrest.NewMasterKey()
	file := filepath.Join(t.TempDir(), "store.key")
	masters := func(keys ...atrest.MasterKey) atrest.KeySource {
		text := ""
		for _, k := range keys {
			text += k.Text() + "\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return atrest.FromFile(file, "")
	}
	read := func() []byte {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	k, err := openStateKeys(ctx, dir, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := k.of(ctx, "runtime-local")
	if other, _ := k.of(ctx, "runtime-docker"); bytes.Equal(want, other) || len(want) != 32 {
		t.Error("two plugins have one key")
	}
	clear := read()
	for _, tt := range []struct {
		name   string
		source atrest.KeySource
		master string
	}{
		{"InClear", nil, ""},
		{"Encrypted", masters(first), first.ID()},
		{"Again", masters(first), first.ID()},
		{"AnotherMaster", masters(second, first), second.ID()},
		{"FormerGone", masters(second), second.ID()},
	} {
		if tt.name == "FormerGone" {
			masters(second)
		}
		k, err := openStateKeys(ctx, dir, tt.source, tt.master)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got, _ := k.of(ctx, "runtime-local"); !bytes.Equal(got, want) {
			t.Errorf("%s: another key", tt.name)
		}
		if tt.source != nil && bytes.Contains(read(), clear) {
			t.Errorf("%s: the key is in clear on disk", tt.name)
		}
	}
	stored := read()
	for name, tt := range map[string]struct {
		source atrest.KeySource
		change func(text []byte)
		want   string
	}{
		"InClearNow": {nil, func([]byte) {}, "belongs to an encrypted store (key " + second.ID()},
		"WrongKey":   {masters(first), func([]byte) {}, "was encrypted by key " + second.ID()},
		"Damaged":    {masters(second), func(text []byte) { text[len(text)-10] ^= 1 }, "plugins.key"},
		"Readable":   {masters(second), func([]byte) { _ = os.Chmod(path, 0o640) }, "may be read by others"},
	} {
		t.Run(name, func(t *testing.T) {
			masters(map[bool]atrest.MasterKey{true: first, false: second}[name == "WrongKey"])
			text := bytes.Clone(stored)
			tt.change(text)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := openStateKeys(ctx, dir, tt.source, second.ID())
			if core.ErrorCode(err) != core.CodeConflict || !strings.Contains(core.AsError(err).Message, tt.want) {
				t.Errorf("%v", err)
			}
			if !bytes.Equal(read(), text) {
				t.Error("the file was changed")
			}
			_ = os.Chmod(path, 0o600)
		})
	}
}
