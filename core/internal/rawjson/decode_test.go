package rawjson_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

func TestDecode(t *testing.T) {
	var v any
	err := rawjson.Decode([]byte(` {"a": [9007199254740993, 1e400, "x"]} `), &v)
	if want := any(map[string]any{"a": []any{json.Number("9007199254740993"), json.Number("1e400"), "x"}}); err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("%#v, %v", v, err)
	}
	for _, text := range []string{"", " ", "{", `{"a":1`, "1 2", "{}x", "[1,]"} {
		if err := rawjson.Decode([]byte(text), &v); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
