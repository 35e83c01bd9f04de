package server

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func FuzzDecodeSpawn(f *testing.F) {
	for _, seed := range []string{`{"type":"a","memory":"1g"}`, `{"id":1}`, `{"declared":{"idle":-1}}`, `{"ready":{"timeout":1e99}}`, `null`, `{}{}`, `{"resources":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var request spawnRequest
		err := decode(data, &request)
		if err == nil {
			_, err = request.spec()
		}
		if err == nil {
			return
		}
		code := runtime.ErrorCode(err)
		if code != runtime.CodeInvalidArgument && code != runtime.CodeInvalidSpec {
			t.Fatalf("%q: %v", data, err)
		}
		if text := runtime.AsError(err).Message; text == "" || strings.Contains(text, "of type server.") {
			t.Fatalf("%q: the message %q is for a programmer", data, text)
		}
	})
}
