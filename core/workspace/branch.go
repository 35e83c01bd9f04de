package workspace

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
)

const (
	maxRefName = 200 // bytes; file systems and hosts take more, people do not
	maxSlug    = 40
	workPrefix = "wardroom/"
)

var fullHash = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// checkRef wants the name of a branch or tag that git takes, and that is no option and no expression.
func checkRef(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > maxRefName:
		return errors.New("is longer than " + strconv.Itoa(maxRefName) + " bytes")
	case !utf8.ValidString(name), strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return errors.New("holds a blank, a control character or broken UTF-8")
	case strings.ContainsAny(name, `~^:?*[\`), strings.Contains(name, ".."), strings.Contains(name, "@{"), name == "@":
		return errors.New(`is not the name of a branch, tag or commit: ~ ^ : ? * [ \ .. and @{ cannot be in one`)
	case strings.HasPrefix(name, "-"), strings.HasSuffix(name, "."):
		return errors.New("begins with a - or ends with a dot")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return errors.New("has a part that is empty, begins with a dot or ends with .lock")
		}
	}
	return nil
}

// slug makes a part of a branch name from what people call things.
func slug(text string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
		} else {
			dash = true
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	return b.String()
}

// branchOwner is what stands for the execution in the name of a work branch. One that is not there yet has no id, and the
// next that is prepared must not get the branch that this one may have pushed.
func branchOwner(executionID, workspaceID string) string {
	if executionID != core.NewExecution {
		return executionID
	}
	return core.NewExecution + "-" + strings.ToLower(workspaceID[max(0, len(workspaceID)-8):])
}

// workBranch names the branch of a thread: wardroom/<execution>/<role>-<slug>. The names that threads get by default
// begin with their role, which is not told twice.
func workBranch(executionID, role, name string) string {
	execution, what := slug(executionID), slug(role)
	if checkRef(executionID) == nil && !strings.Contains(executionID, "/") && len(executionID) <= 64 {
		execution = executionID // as people see it elsewhere
	}
	execution = cmp.Or(execution, "none")
	what = cmp.Or(what, "thread")
	if s := strings.TrimPrefix(slug(name), what+"-"); s != "" && s != what {
		what += "-" + s
	}
	return workPrefix + execution + "/" + what
}

// numbered returns a branch name for the n-th try: name, name-2, name-3, ...
func numbered(name string, n int) string {
	if n <= 1 {
		return name
	}
	return name + "-" + strconv.Itoa(n)
}
