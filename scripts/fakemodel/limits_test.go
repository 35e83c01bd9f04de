package fakemodel_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

func zipped(t *testing.T, encoding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if encoding == "gzip" {
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

func TestCompressedBodies(t *testing.T) {
	server := start(t, fakemodel.Options{})
	plain, err := json.Marshal(anthropicBody(false, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	for _, encoding := range []string{"gzip", "zstd"} {
		_, data := send(t, server, http.MethodPost, messages, bytes.NewReader(zipped(t, encoding, plain)), http.Header{"Content-Encoding": {encoding}})
		check(t, encoding, decode(t, data).text("content.0.text"), "ANSWER[hello]")
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	server := start(t, fakemodel.Options{MaxBody: 100_000})
	large := []byte(`"` + strings.Repeat("a", 200_000) + `"`)
	for _, tt := range []struct {
		name, encoding string
		body           []byte
		status         int
		want           string
	}{
		{"too large", "", large, 413, "the body is larger than 100000 bytes"},
		{"gzip of too much", "gzip", zipped(t, "gzip", large), 413, "the body is larger than 100000 bytes"},
		{"zstd of too much", "zstd", zipped(t, "zstd", large), 413, "the body is larger than 100000 bytes"},
		{"no JSON", "", []byte("{nonsense"), 400, "the body is not JSON: "},
		{"no gzip", "gzip", []byte("nonsense"), 400, "the body cannot be read: "},
		{"no zstd", "zstd", []byte("nonsense"), 400, "the body cannot be read: "},
		{"unknown encoding", "br", []byte("x"), 415, `Content-Encoding "br" is not understood; send gzip, zstd or none`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, data := send(t, server, http.MethodPost, messages, bytes.NewReader(tt.body), http.Header{"Content-Encoding": {tt.encoding}})
			if message := decode(t, data).text("error.message"); status != tt.status || !strings.HasPrefix(message, tt.want) {
				t.Errorf("%d %q, want %d %q", status, message, tt.status, tt.want)
			}
		})
	}
	if _, data := post(t, server, messages, anthropicBody(false, "hello")); decode(t, data).text("content.0.text") != "ANSWER[hello]" {
		t.Errorf("answers %s afterwards", data)
	}
}

// JSON of any shape is answered: what is missing reads as nothing.
func TestOddBodies(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for _, body := range []string{
		``, `null`, `[]`, `"x"`, `{}`, `{"messages":{},"input":7,"contents":[[]],"tools":"x","text":[],"model":9}`,
		`{"messages":[null,{"role":"user","content":[null,{"type":"tool_result"}]}],"input":[1,{"type":[]}],"contents":[{"parts":[null]}]}`,
	} {
		for _, path := range []string{messages, "/v1/responses", "/v1/chat/completions", generate, streamed, "/v1/messages/count_tokens"} {
			if status, data := send(t, server, http.MethodPost, path, strings.NewReader(body), nil); status != 200 {
				t.Errorf("%s with %s is %d %s", path, body, status, data)
			}
		}
	}
}

func FuzzBodies(f *testing.F) {
	server := fakemodel.New(fakemodel.Options{MaxBody: 1 << 20, MaxHold: time.Millisecond, Wait: noWait})
	paths := []string{messages, "/v1/responses", "/v1/chat/completions", generate, streamed}
	f.Add([]byte(`{"messages":[{"role":"user","content":"USE_TOOL"}],"tools":[{"name":"Bash"}],"stream":true}`))
	f.Add([]byte(`{"input":[{"role":"user","content":"USE_TOOL ESCALATE"}],"tools":[{"type":"namespace","name":"n","tools":[{"name":"exec","type":"custom"}]}]}`))
	f.Add([]byte(`{"contents":{"parts":[{"text":"ASK[x]"}]},"generationConfig":{"responseMimeType":"application/json","responseSchema":{"anyOf":[{"anyOf":[]}]}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range paths {
			w := httptest.NewRecorder()
			server.Serve(w, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)))
			if w.Body.Len() == 0 || w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s is %d %q", path, w.Code, w.Body)
			}
		}
	})
}

func TestLimitOfRequests(t *testing.T) {
	server := start(t, fakemodel.Options{MaxRequests: 2})
	for i, want := range []int{200, 200, 503, 503} {
		if status, data := post(t, server, messages, anthropicBody(false, "hello")); status != want {
			t.Errorf("request %d is %d %s, want %d", i+1, status, data, want)
		}
	}
}

// When every place is taken the next is told so, and the control endpoints still answer.
func TestLimitAtOnce(t *testing.T) {
	server := start(t, fakemodel.Options{MaxInflight: 1})
	held := async(t, server, "HOLD[door]")
	if err := server.AwaitHeld(in(t), "door"); err != nil {
		t.Fatal(err)
	}
	status, data := post(t, server, messages, anthropicBody(false, "hello"))
	if status != 503 || decode(t, data).text("error.type") != "overloaded_error" {
		t.Errorf("%d %s", status, data)
	}
	if status, data := send(t, server, http.MethodPost, "/_fake/release?name=door", nil, nil); status != 200 {
		t.Errorf("release is %d %s", status, data)
	}
	check(t, "held answer", <-held, "ANSWER[HOLD[door]]")
	for ctx, status := in(t), 0; status != 200; { // the place is free soon after the answer
		if status, data = post(t, server, messages, anthropicBody(false, "hello")); ctx.Err() != nil {
			t.Fatalf("%d %s afterwards", status, data)
		}
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options fakemodel.Options
		want    []string
	}{
		{"not loopback", fakemodel.Options{Listen: "0.0.0.0:0"}, []string{`"0.0.0.0:0" is not a loopback address`}},
		{"a name", fakemodel.Options{Listen: "example.com:80"}, []string{"is not a loopback address"}},
		{"no port", fakemodel.Options{Listen: "127.0.0.1"}, []string{"is not host:port"}},
		{"negative", fakemodel.Options{Lifetime: -1, MaxBody: -1, MaxInflight: -1, MaxHold: -1, Keep: -1, ChunkDelay: -1},
			[]string{"Lifetime is", "MaxBody is", "MaxInflight is", "MaxHold is", "Keep is", "ChunkDelay is"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := fakemodel.New(tt.options).Start()
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, want %q in it", err, want)
				}
			}
		})
	}
}
