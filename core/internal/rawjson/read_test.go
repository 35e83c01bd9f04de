package rawjson_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

func TestWalk(t *testing.T) {
	it := rawjson.Walk([]byte(` { "a" : 1 , "b\n" : [ "]" , "}\"" ] , "c":{"d":null} } `))
	var got []string
	for it.Next() {
		got = append(got, string(it.Key)+"="+string(it.Value))
	}
	want := []string{`"a"=1`, `"b\n"=[ "]" , "}\"" ]`, `"c"={"d":null}`}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("entry %d = %s, want %s", i, got[i], want[i])
		}
	}
	for _, none := range []string{``, `1`, `"x"`, `{}`, `[]`, `[ ]`} {
		if it := rawjson.Walk([]byte(none)); it.Next() {
			t.Errorf("Walk(%s) has an entry", none)
		}
	}
}

func TestFieldAndIndex(t *testing.T) {
	raw := []byte(`{"a":1,"k\u0065y":[10, {"x":2} ,"s"],"a":3}`)
	if v, ok := rawjson.Field(raw, "a"); !ok || string(v) != "3" {
		t.Errorf("a = %s, %v", v, ok)
	}
	list, ok := rawjson.Field(raw, "key")
	if !ok {
		t.Fatal("key is not found")
	}
	if v, ok := rawjson.Index(list, 1); !ok || string(v) != `{"x":2}` {
		t.Errorf("[1] = %s, %v", v, ok)
	}
	if _, ok := rawjson.Index(list, 3); ok {
		t.Error("[3] is there")
	}
	if _, ok := rawjson.Index(raw, 0); ok {
		t.Error("an object has an index")
	}
	if _, ok := rawjson.Field(list, "x"); ok {
		t.Error("an array has a field")
	}
}

func TestUnquote(t *testing.T) {
	for _, quoted := range []string{`""`, `"plain"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\u20AC"`, `"\ud83d\ude00x"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00"`} {
		var want string
		if err := json.Unmarshal([]byte(quoted), &want); err != nil {
			t.Fatal(err)
		}
		if got := string(rawjson.Unquote([]byte(quoted))); got != want {
			t.Errorf("Unquote(%s) = %q, want %q", quoted, got, want)
		}
		if back := string(rawjson.AppendString(nil, want)); !json.Valid([]byte(back)) || string(rawjson.Unquote([]byte(back))) != want {
			t.Errorf("AppendString(%q) = %s", want, back)
		}
	}
}

func TestKindOf(t *testing.T) {
	for text, want := range map[string]rawjson.Kind{
		"": rawjson.Invalid, "x": rawjson.Invalid, " null": rawjson.Null, "true": rawjson.Bool, "-1": rawjson.Number,
		`"s"`: rawjson.String, "[": rawjson.Array, "\n{": rawjson.Object,
	} {
		if got := rawjson.KindOf([]byte(text)); got != want {
			t.Errorf("KindOf(%q) = %v, want %v", text, got, want)
		}
	}
}
