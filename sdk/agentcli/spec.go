package agentcli

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Sizes of a terminal. What viewers wish is brought between them.
const (
	defaultCols, defaultRows = 120, 40
	minCols, minRows         = 40, 10
	maxSize                  = 1000
)

var (
	validID  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	validEnv = regexp.MustCompile(wire.EnvNamePattern)
)

var presets = append(wire.ApprovalPresets(), "")

// Bounds of a spec, so that a record stays small.
const (
	maxEnvBytes = 256 << 10
	maxText     = 4 << 10
	maxVolumes  = 64
)

// checkSpec returns what is wrong with a spec, whatever its type.
func (o *Options) checkSpec(spec *runtime.Spec) error {
	if !validID.MatchString(spec.ID) {
		return runtime.Invalid("id", "%q is not an id: 1 to 64 letters, digits, _ and -", spec.ID)
	}
	for _, text := range []struct{ field, value string }{
		{"name", spec.Name}, {"type", spec.Type}, {"installation", spec.Installation}, {"workdir", spec.Workdir}, {"resume", spec.Resume},
		{"image", spec.Image}, {"network", spec.Network},
	} {
		if len(text.value) > maxText || !utf8.ValidString(text.value) || strings.ContainsRune(text.value, 0) {
			return runtime.Invalid(text.field, "is not a text of at most %d bytes", maxText)
		}
	}
	if spec.Type == "" {
		return runtime.Invalid("type", "an agent needs a type")
	}
	if spec.Workdir != "" && !filepath.IsAbs(spec.Workdir) {
		return runtime.Invalid("workdir", "%q is not an absolute path", spec.Workdir)
	}
	if !slices.Contains(presets, spec.Approval) {
		return runtime.Invalid("approval", "%q is none of readonly, standard, permissive and autonomous", spec.Approval)
	}
	if spec.Cols < 0 || spec.Cols > maxSize {
		return runtime.Invalid("cols", "%d is not within 1..%d", spec.Cols, maxSize)
	}
	if spec.Rows < 0 || spec.Rows > maxSize {
		return runtime.Invalid("rows", "%d is not within 1..%d", spec.Rows, maxSize)
	}
	if l := spec.Limits; l.MemoryBytes < 0 || l.CPU < 0 || l.PIDs < 0 {
		return runtime.Invalid("limits", "a limit is not negative; 0 is the runtime's default")
	}
	if !o.Images && spec.Image != "" {
		return runtime.Invalid("image", "the runtime %s does not start agents from images", o.Name)
	}
	if !o.Images && spec.Network != "" {
		return runtime.Invalid("network", "the runtime %s has no networks to choose from", o.Name)
	}
	if !o.Images && len(spec.Volumes) > 0 {
		return runtime.Invalid("volumes", "the runtime %s cannot mount directories; give the agent a workdir", o.Name)
	}
	if len(spec.Volumes) > maxVolumes {
		return runtime.Invalid("volumes", "are more than %d", maxVolumes)
	}
	return checkEnv("env", spec.Env)
}

// checkEnv names the first bad variable, and never a value.
func checkEnv(field string, env map[string]string) error {
	size := 0
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		size += len(name) + len(value)
		if !validEnv.MatchString(name) {
			return runtime.Invalid(field, "%q is not the name of an environment variable", name)
		}
		if strings.ContainsRune(value, 0) {
			return runtime.Invalid(field+"."+name, "holds a NUL byte")
		}
	}
	if size > maxEnvBytes {
		return runtime.Invalid(field, "is larger than %d bytes in all", maxEnvBytes)
	}
	return nil
}

// equalSpecs reports whether two specs are equal as the contract has it: equal JSON.
func equalSpecs(a, b *runtime.Spec) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && string(x) == string(y)
}

// composeEnv joins what every command gets, what the adapter adds and what the spec adds; later ones win.
func composeEnv(room []string, plan, spec map[string]string) []string {
	env := map[string]string{}
	for _, pair := range room {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	maps.Copy(env, plan)
	maps.Copy(env, spec)
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// clampSize brings a wished size between the bounds.
func clampSize(cols, rows int) (int, int) {
	return min(max(cols, minCols), maxSize), min(max(rows, minRows), maxSize)
}
