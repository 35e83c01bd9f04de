package pluginhost

import "github.com/wardroom/wardroom/core"

// message returns the text of an error for operators: its own for one of ours, the system's for another.
func message(err error) string {
	e := core.AsError(err)
	if e.Code == core.CodeInternal && len(e.Details) == 0 && e.Unwrap() != nil {
		return lastError(err).Error()
	}
	return e.Message
}
