package holder

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// TestAnswerHasABound: the bound holds however the output is copied.
func TestAnswerHasABound(t *testing.T) {
	var a answer
	n, err := io.Copy(&a, io.LimitReader(noise{}, 4*wire.MaxBody))
	if !errors.Is(err, errMore) || a.failed(nil) == nil || n > wire.HeaderLen+wire.MaxBody {
		t.Errorf("%d bytes, %v", n, err)
	}
	var b answer
	if _, err := io.Copy(&b, strings.NewReader("a path")); err != nil || b.failed(nil) != nil || b.kept.String() != "a path" {
		t.Errorf("%q, %v", b.kept.String(), err)
	}
}

// noise is a reader without an end.
type noise struct{}

func (noise) Read(p []byte) (int, error) { return len(p), nil }
