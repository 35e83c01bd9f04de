package rawjson_test

import (
	"testing"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

func TestAsObject(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, ` {}`: ` {}`, `"no \"more\""`: `{"text":"no \"more\""}`, `[1,2]`: `{"value":[1,2]}`,
		`3`: `{"value":3}`, `false`: `{"value":false}`, `null`: `null`, ``: ``,
	} {
		if got := string(rawjson.AsObject([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
