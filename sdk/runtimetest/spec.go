package runtimetest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// check refuses a spec that cannot be started; nothing has happened then.
func check(spec runtime.Spec) error {
	switch {
	case !validID.MatchString(spec.ID):
		return runtime.Invalid("id", "must be 1 to 64 letters, digits, _ and -")
	case spec.Type != Type:
		return &runtime.Error{Code: runtime.CodeUnknownType, Field: "type", Message: "this runtime knows only " + Type}
	case len(spec.Volumes) > 0:
		return runtime.Invalid("volumes", "this runtime cannot mount directories")
	case spec.Image != "" || spec.Network != "":
		return runtime.Invalid("image", "this runtime has no containers")
	case spec.Cols < 0 || spec.Rows < 0 || spec.Cols > 1000 || spec.Rows > 1000:
		return runtime.Invalid("cols", "columns and rows must be from 1 to 1000, or 0 for the default")
	}
	if spec.Approval != "" && !slices.Contains(wire.ApprovalPresets(), spec.Approval) {
		return runtime.Invalid("approval", "must be readonly, standard, permissive or autonomous")
	}
	if spec.Workdir == "" {
		return nil
	}
	if !filepath.IsAbs(spec.Workdir) {
		return runtime.Invalid("workdir", "must be an absolute path")
	}
	if info, err := os.Stat(spec.Workdir); err != nil || !info.IsDir() {
		return runtime.Invalid("workdir", "is not a directory")
	}
	return nil
}

func same(a, b runtime.Spec) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
