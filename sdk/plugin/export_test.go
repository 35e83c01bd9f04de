package plugin

import (
	"context"
	"io"
)

// Run is Main of a plugin that is started by hand.
func Run(ctx context.Context, def Definition, args []string, port string, stdout, stderr io.Writer) int {
	return run(ctx, def, args, port, stdout, stderr)
}

// IsHandshake reports whether a printed line goes to the host.
func IsHandshake(line []byte) bool { return handshakeLine.Match(line) }

// ShortLine writes a record of the log as the host gets it.
func ShortLine(w io.Writer, record []byte) (int, error) { return lineWriter{w}.Write(record) }

// MaxLine is the longest record of the log.
const MaxLine = maxLine

// CheckConfig checks a configuration against a schema.
func CheckConfig(raw, config []byte) ([]Problem, error) {
	s, err := compile(raw)
	if err != nil {
		return nil, err
	}
	return s.check(config), nil
}

// HostCalls is how many calls of a host a plugin has served at once.
const HostCalls = hostCalls
