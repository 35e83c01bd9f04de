package gemini_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

// reply is a provider's answer to a request: chunks of a stream, and pauses.
type reply []string

// pause is three seconds without a chunk.
const pause = ""

// scripted starts what answers requests that hold PLAY[name] with the replies of that name, one after the other, and returns the
// environment that makes gemini ask it.
func scripted(t *testing.T, replies map[string][]reply) map[string]string {
	t.Helper()
	answers := map[string][]http.HandlerFunc{}
	for name, all := range replies {
		for _, r := range all {
			answers[name] = append(answers[name], r.write)
		}
	}
	return modelEnv(drivertest.Played(t, answers))
}

func (r reply) write(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range r {
		if chunk != pause {
			_, _ = io.WriteString(w, "data: "+chunk+"\n\n")
			continue
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(3 * time.Second):
		case <-req.Context().Done():
		}
	}
}

// chunk is one of a stream, with its parts as JSON; finish ends it, if it is not empty.
func chunk(finish string, parts ...string) string {
	if finish != "" {
		finish = `"finishReason":"` + finish + `",`
	}
	return `{"candidates":[{` + finish + `"index":0,"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}}],` +
		`"modelVersion":"gemini-2.5-pro","usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":5,"totalTokenCount":105}}`
}

func call(t *testing.T, tool string, args map[string]any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"functionCall": map[string]any{"name": tool, "args": args}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
