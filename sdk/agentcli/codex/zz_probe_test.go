package codex_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

func TestZZIncomplete(t *testing.T) {
	drivertest.CLI(t, "codex")
	for _, reason := range []string{"max_output_tokens", "content_filter"} {
		model, _ := url.Parse(drivertest.StartModel(t).URL)
		proxy := httputil.NewSingleHostReverseProxy(model)
		n := 0
		proxy.ModifyResponse = func(r *http.Response) error {
			b, _ := io.ReadAll(r.Body)
			if bytes.Contains(b, []byte("half")) {
				n++
				b = bytes.ReplaceAll(b, []byte(`response.completed`), []byte(`response.incomplete`))
				b = bytes.ReplaceAll(b, []byte(`"status":"completed"`), []byte(`"incomplete_details":{"reason":"`+reason+`"},"status":"incomplete"`))
			}
			r.Body = io.NopCloser(bytes.NewReader(b))
			r.Header.Set("Content-Length", strconv.Itoa(len(b)))
			r.ContentLength = int64(len(b))
			return nil
		}
		server := httptest.NewServer(proxy)
		defer server.Close()
		a := started(t, codex.New(), modelEnv(server.URL))
		a.Send("SAY[half]")
		end := a.Turn()
		t.Logf("%s: %q %+v requests %d", reason, end.Text, end.Error, n)
		a.Send("SAY[after]")
		end = a.Turn()
		t.Logf("%s: %q %+v requests %d", reason, end.Text, end.Error, n)
		t.Log(a.Screen())
		a.Close()
	}
}
