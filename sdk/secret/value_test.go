package secret_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/sdk/secret"
)

const plain = "hunter2"

// However a value is printed, what it holds is not there: as text, as hexadecimal, as base64, as numbers.
func TestValueIsNeverPrinted(t *testing.T) {
	v := secret.NewValue([]byte(plain), "7", time.Now())
	in := struct {
		V secret.Value
		P *secret.Value
		L []secret.Value
		M map[string]secret.Value
	}{v, &v, []secret.Value{v}, map[string]secret.Value{"a": v}}
	type settings struct{ token secret.Value } // fmt does not ask what is in a field that is not exported
	hidden := settings{v}

	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%b", "%c", "%U", "%t", "%10.3s", "%!"} {
		_, _ = fmt.Fprintf(&out, verb+" ", v)
		_, _ = fmt.Fprintf(&out, verb+" ", &v)
		_, _ = fmt.Fprintf(&out, verb+" ", hidden)
	}
	_, _ = fmt.Fprintf(&out, "%v %+v %s", in, in, in)
	_, _ = fmt.Fprint(&out, v, &v, fmt.Errorf("failed with %v: %w", v, errors.New("x")))
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		b, err := marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	b, err := xml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(b)
	var binary bytes.Buffer
	if err := gob.NewEncoder(&binary).Encode(v); err != nil {
		t.Fatal(err)
	}
	out.Write(binary.Bytes())
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v, "in", in)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v, "p", &v)
	for _, asJSON := range []bool{true, false} {
		hclog.New(&hclog.LoggerOptions{Output: &out, JSONFormat: asJSON}).Info("x", "v", v, "p", &v, "l", in.L, "h", hidden)
	}
	for _, form := range []string{plain, "68756e74657232", "68 75 6e", "aHVudGVyMg", "104 117 110", "U+0068", "[104", "1101000 1110101"} {
		if strings.Contains(strings.ToLower(out.String()), strings.ToLower(form)) {
			t.Errorf("%q is printed:\n%s", form, out.String())
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Error("nothing says that something was left out")
	}
}

func TestValue(t *testing.T) {
	at := time.Now()
	v := secret.NewValue([]byte(plain), "7", at)
	if string(v.Reveal()) != plain || v.Len() != len(plain) || v.Version() != "7" || !v.NotAfter().Equal(at) || v.IsZero() {
		t.Error("the value is not what it was made of")
	}
	if !(secret.Value{}).IsZero() || secret.NewValue([]byte{}, "", time.Time{}).IsZero() {
		t.Error("no value and an empty value are not told apart")
	}
	if v.String() != "[redacted]" || v.GoString() != "[redacted]" {
		t.Error("a value has text")
	}
}

func TestRef(t *testing.T) {
	if got := (secret.Ref{Path: "a/b", Key: "c"}).String(); got != "a/b#c" {
		t.Errorf("got %s", got)
	}
	if got := (secret.Ref{Path: "a/b"}).String(); got != "a/b" {
		t.Errorf("got %s", got)
	}
}
