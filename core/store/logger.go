package store

import (
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// badgerLogger passes Badger's warnings and errors on. Its info and debug lines tell of single files and
// are of no use to an operator.
type badgerLogger struct{ log hclog.Logger }

func (l badgerLogger) Errorf(format string, args ...any)   { l.log.Error(line(format, args)) }
func (l badgerLogger) Warningf(format string, args ...any) { l.log.Warn(line(format, args)) }
func (badgerLogger) Infof(string, ...any)                  {}
func (badgerLogger) Debugf(string, ...any)                 {}

func line(format string, args []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}
