package holder

import (
	"bytes"
	"errors"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// answer takes the output of a binary over there, which is one frame, or a path. What is in the place of the binary may be
// another program, which writes without end: beyond a frame it takes nothing. The zero value is ready.
type answer struct {
	kept bytes.Buffer // not embedded: its ReadFrom, which io.Copy prefers, knows no bound
	over bool         // there was more
}

var errMore = errors.New("answers with more than a frame")

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	if a.over || a.kept.Len()+len(p) > wire.HeaderLen+wire.MaxBody {
		a.over = true
		return 0, errMore
	}
	return a.kept.Write(p)
}

// failed returns the error of a stream that returned err, which may be nil: not every stream ends with its output.
func (a *answer) failed(err error) error {
	if a.over {
		return badHolder(errMore)
	}
	return err
}
