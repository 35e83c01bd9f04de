package memory

import (
	"encoding/json"
	"testing"
)

// A number that a float64 has not keeps no experience from being found by the texts beside it.
func TestDetailsTextBesideNumbers(t *testing.T) {
	if got := detailsText(json.RawMessage(`{"b":["parser",1e400],"a":"lexer"}`)); got != "lexer parser " {
		t.Errorf("the text is %q", got)
	}
	if got := detailsText(json.RawMessage(`{"a":"lexer"`)); got != "" {
		t.Errorf("the text of what is no JSON is %q", got)
	}
}
