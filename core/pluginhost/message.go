package pluginhost

import "github.com/wardroom/wardroom/core"

// message is what an operator reads of an error: its own text for one of ours, the system's for another.
func message(err error) string {
	e := core.AsError(err)
	if e.Code == core.CodeInternal && len(e.Details) == 0 && e.Unwrap() != nil {
		return lastError(err).Error()
	}
	return e.Message
}
