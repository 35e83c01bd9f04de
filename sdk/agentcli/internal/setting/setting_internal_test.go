package setting

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What has no comments is left as it is, and what is left of any other has none.
func FuzzUncommented(f *testing.F) {
	for _, seed := range []string{`{"a": "http://x/* \\"}`, "{} // x", "/*/{}", `"\`, "/", "//", "/**/"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := uncommented(data)
		if json.Valid(data) && !bytes.Equal(out, data) {
			t.Errorf("%q became %q", data, out)
		}
		if json.Valid(out) && !bytes.Equal(uncommented(out), out) {
			t.Errorf("%q became %q, and then %q", data, out, uncommented(out))
		}
	})
}
