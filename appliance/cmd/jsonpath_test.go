package cmd_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
)

func TestJSONPath(t *testing.T) {
	const doc = `{"id":"a","n":1.50,"list":[{"k":"x"},{"k":"y","a.b":{"c d":[]}}],"o":{"z":1,"y":[2,3]},"null":null,"":4}`
	for path, want := range map[string]string{
		".":                      doc,
		".id":                    `"a"`,
		"$.id":                   `"a"`,
		"{.id}":                  `"a"`,
		"{$['id']}":              `"a"`,
		".n":                     `1.50`,
		".list[*].k":             `"x" "y"`,
		".list.*.k":              `"x" "y"`,
		".list[0]":               `{"k":"x"}`,
		".list[-1].k":            `"y"`,
		".list[2].k":             ``,
		".list[-3]":              ``,
		`.list[1]["a.b"]`:        `{"c d":[]}`,
		".list[1]['a.b']['c d']": `[]`,
		".o.*":                   `1 [2,3]`,
		".o[*][1]":               `3`,
		".id.k":                  ``,
		".null":                  `null`,
		".null.x":                ``,
		"[*]":                    `"a" 1.50 [{"k":"x"},{"k":"y","a.b":{"c d":[]}}] {"z":1,"y":[2,3]} null 4`,
	} {
		got, err := cmd.PickJSON(path, json.RawMessage(doc))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", path, text, want)
		}
	}
	for _, path := range []string{"", "$", "{}", "id", "{.id", ".id.", "..id", ".id[", ".id[x]", ".id['x]", ".id[]", ".id['']", ".a]b["} {
		if got, err := cmd.PickJSON(path, json.RawMessage(doc)); err == nil {
			t.Errorf("%q was taken: %s", path, got)
		}
	}
}

// FuzzJSONPath holds every path to an error or to values that are JSON.
func FuzzJSONPath(f *testing.F) {
	f.Add(".a[0]['b'].*", `{"a":[{"b":[1]}]}`)
	f.Add("{$[-1]}", `[1,"x"]`)
	f.Add(".", ``)
	f.Fuzz(func(t *testing.T, path, doc string) {
		if !json.Valid([]byte(doc)) {
			return // answers that are not JSON come to no path
		}
		got, err := cmd.PickJSON(path, json.RawMessage(doc))
		for _, value := range got {
			if err != nil || !json.Valid([]byte(value)) {
				t.Fatalf("%q in %q: %q beside %v", path, doc, got, err)
			}
		}
	})
}
