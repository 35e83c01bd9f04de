package fakemodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a server that ends with the test.
func start(t *testing.T, o fakemodel.Options) *fakemodel.Server {
	t.Helper()
	server := fakemodel.New(o)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// client speaks to a server, and leaves no connection behind.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// post sends a JSON body and returns the status and the whole answer.
func post(t *testing.T, server *fakemodel.Server, path string, body any) (int, []byte) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, server, http.MethodPost, path, bytes.NewReader(data), nil)
}

func get(t *testing.T, server *fakemodel.Server, path string) (int, []byte) {
	t.Helper()
	return send(t, server, http.MethodGet, path, nil, nil)
}

func send(t *testing.T, server *fakemodel.Server, method, path string, body io.Reader, header http.Header) (int, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL()+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for key, values := range header {
		request.Header[key] = values
	}
	response, err := client(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, data
}

// value is a decoded JSON document that tests look into by a path such as "content.0.text".
type value struct{ v any }

func decode(t *testing.T, data []byte) value {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return value{v}
}

// at is the value at a path, or nil.
func (v value) at(path string) any {
	for _, step := range strings.Split(path, ".") {
		switch here := v.v.(type) {
		case map[string]any:
			v.v = here[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(here) {
				return nil
			}
			v.v = here[i]
		default:
			return nil
		}
	}
	return v.v
}

func (v value) text(path string) string { text, _ := v.at(path).(string); return text }

// event is one server-sent event.
type event struct {
	name string
	value
}

// events reads a whole stream. A stream that is not well formed fails the test.
func events(t *testing.T, stream []byte) []event {
	t.Helper()
	var all []event
	for block := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			switch name, rest, _ := strings.Cut(line, ": "); name {
			case "event":
				e.name = rest
			case "data":
				if rest != "[DONE]" {
					e.value = decode(t, []byte(rest))
				}
			default:
				t.Fatalf("the line %q is no event field", line)
			}
		}
		all = append(all, e)
	}
	return all
}

// names lists the names of events, repeated ones once.
func names(all []event) string {
	var out []string
	for _, e := range all {
		if n := len(out); n == 0 || out[n-1] != e.name {
			out = append(out, e.name)
		}
	}
	return strings.Join(out, " ")
}

// joined puts the texts at a path of all events together.
func joined(all []event, path string) string {
	var b strings.Builder
	for _, e := range all {
		b.WriteString(e.text(path))
	}
	return b.String()
}

// check compares strings.
func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

// in is a context for waiting in a test.
func in(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
