package orgchart

import (
	"encoding/json"
	"strings"
	"testing"
)

// However an answer is wrapped, each text of it is read once, and what is beyond the bound approves nothing.
func TestReadTextsOnce(t *testing.T) {
	long := strings.Repeat("i do not recommend to be inclined and ", 1000)
	for _, key := range []string{"message", "reason", "result", "verdict"} {
		answer, err := json.Marshal(long)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			answer = json.RawMessage(`{"` + key + `":` + string(answer) + `}`)
		}
		rd := reader{left: maxRead}
		if rd.value(answer, 0); maxRead-rd.left > len(long) {
			t.Errorf("%s: %d bytes were read of a text of %d", key, maxRead-rd.left, len(long))
		}
	}
	texts := []string{"I approve this."}
	for _, approved := range []bool{true, false} {
		texts = append(texts, strings.Repeat("the sky is blue\n", maxText/16))
		list, err := json.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := ReadVerdict(list); ok != approved {
			t.Errorf("%d texts: %+v, %v", len(texts), v, ok)
		}
	}
}
