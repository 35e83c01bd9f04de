package examples_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// testExact passes numbers on that the language has no number for: whole, in a copy, and as they come in a reply.
func testExact(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	input := `{"text":"pass on","big":9007199254740993,"bigger":-12345678901234567890123,"huge":1e400,"tiny":-1.5E-400,
		"fine":0.1000000000000000055511151231257827,"digits":` + strings.Repeat("7", 5000) + `,"beyond":1e99999999999999999999,
		"plain":[7,-2.5,0.1,1e21,12,0],"list":[[18446744073709551615,{"a":1e999,"1e400":"1e400 \" 9007199254740993 \\"}],"9007199254740993"],
		"one":1.0,"hundred":1E2}`
	want := strings.NewReplacer("1.0,", "1,", "1E2", "100").Replace(input)
	for _, id := range []string{"t1", "t2"} {
		p := task(id, 1, "")
		p.Input = json.RawMessage(input)
		must(t, c.Task(p))
		var got struct {
			Whole, Copy json.RawMessage
		}
		r := result(t, c)
		must(t, json.Unmarshal(r.Result, &got))
		for what, raw := range map[string]json.RawMessage{"the input": got.Whole, "a copy": got.Copy} {
			if !reflect.DeepEqual(numbers(t, string(raw)), numbers(t, want)) {
				t.Errorf("%s became\n%s, want\n%s", what, raw, want)
			}
		}
	}
}

// testExactNested has an agent that met a number which its language does not hold answer as before: what is nested deeply, and an
// error whose details are no JSON.
func testExactNested(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	p := task("t1", 1, "")
	p.Input = json.RawMessage(`{"text":"nest","huge":1e400}`)
	must(t, c.Task(p))
	if r := result(t, c); len(r.Result) < 2*600 || strings.Trim(string(r.Result), "[]") != "" {
		t.Errorf("got %.100s", r.Result)
	}
	must(t, c.Task(task("t2", 1, "circular details")))
	var e protocol.TaskError
	next(t, c, protocol.TypeTaskError, &e)
	if e.TaskID != "t2" || e.Error.Code != "OF_ITS_OWN" || e.Error.Message != "with details" {
		t.Errorf("got %+v", e)
	}
}

// numbers decodes JSON with numbers as they are written; those that languages write in other ways are made alike.
func numbers(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(strings.NewReplacer("1e+21", "1e21", "1.0,", "1,", "100.0", "100").Replace(text))))
	d.UseNumber()
	var v any
	must(t, d.Decode(&v))
	return v
}
