package config

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Problem is one thing that is wrong with the configuration.
type Problem struct {
	File   string `json:"file,omitempty"`   // as it was named to Load; empty for a value that no file set
	Line   int    `json:"line,omitempty"`   // 1-based; 0 when the whole file is meant
	Column int    `json:"column,omitempty"` // 1-based, in characters; 0 when it is not known
	Key    string `json:"key,omitempty"`    // dotted; empty when the text itself is not YAML
	Reason string `json:"reason"`           // what is wrong and what would be right
}

// String renders the problem as "file:line: key: reason", the form editors jump to.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Reason)
	return b.String()
}

// Problems returns what is wrong according to an error of Load, Parse or Validate, in the order of files
// and lines; nil for any other error.
func Problems(err error) []Problem {
	var e *core.Error
	if !errors.As(err, &e) {
		return nil
	}
	list, _ := e.Details["errors"].([]Problem)
	return list
}

// asError makes one VALIDATION_ERROR of all problems, nil of none. fileOrder maps a file to its place.
func asError(problems []Problem, fileOrder map[string]int) error {
	if len(problems) == 0 {
		return nil
	}
	sort.SliceStable(problems, func(i, j int) bool {
		a, b := problems[i], problems[j]
		if a.File != b.File {
			return fileOrder[a.File] < fileOrder[b.File]
		}
		return a.Line < b.Line
	})
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return &core.Error{
		Code:    core.CodeValidation,
		Message: "the configuration is not valid:\n" + strings.Join(lines, "\n"),
		Details: map[string]any{"field": problems[0].Key, "reason": problems[0].Reason, "errors": problems},
	}
}
