package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

func TestRoutesAnswerInJSON(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	for _, path := range []string{"/", "/api", "/nothing", "/agents/", "/agents//", "/agents/../agents", "/api/api/agents", "/agents/a/b/c"} {
		if a := r.expect(t, 404, http.MethodGet, path, ""); a.field("error", "code") != "NOT_FOUND" {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	for call, allow := range map[string]string{"PUT /agents": "GET, POST", "POST /health": "GET", "GET /recover": "POST", "PATCH /api/agents/x": "DELETE, GET"} {
		method, path, _ := strings.Cut(call, " ")
		if a := r.expect(t, 405, method, path, ""); a.header.Get("Allow") != allow {
			t.Errorf("%s allows %q, want %q", call, a.header.Get("Allow"), allow)
		}
	}
	if a := r.call(t, http.MethodHead, "/health", ""); a.status != 200 {
		t.Errorf("HEAD /health: %d", a.status)
	}
}

func TestHealth(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	if a := r.expect(t, 200, http.MethodGet, "/api/health", ""); a.field("status") != "healthy" || a.field("runtime") != "memory" {
		t.Errorf("health is %s", a.text)
	}
	if a := r.expect(t, 200, http.MethodGet, "/capabilities", ""); a.field("name") != "memory" || a.field("attach") != true {
		t.Errorf("capabilities are %s", a.text)
	}
	r.rt.Kill()
	if a := r.expect(t, 503, http.MethodGet, "/health", ""); a.field("status") != "unhealthy" || a.field("reason") == "" {
		t.Errorf("health without a runtime is %s", a.text)
	}
	r.expect(t, 503, http.MethodGet, "/agents", "")
}

func TestToken(t *testing.T) {
	const token = "a-token-of-the-test"
	r := newRig(t, runtimeserver.Options{Token: token})
	for header, status := range map[string]int{
		"": 401, "Bearer wrong": 401, "Bearer " + token + "x": 401, "Basic " + token: 401, "Bearer": 401, token: 401,
		"Bearer " + token: 200, "bearer " + token: 200,
	} {
		a := r.expect(t, status, http.MethodGet, "/agents", "", "Authorization", header)
		if status == 401 && (a.field("error", "code") != "UNAUTHORIZED" || a.header.Get("WWW-Authenticate") != "Bearer" || strings.Contains(a.text, token)) {
			t.Errorf("%q: %s", header, a.text)
		}
	}
	// Health tells nothing that needs one, unknown routes do not tell that they are unknown.
	r.expect(t, 200, http.MethodGet, "/health", "", "Authorization", "")
	r.expect(t, 401, http.MethodGet, "/nothing", "", "Authorization", "")
	// A token in a subprotocol counts for WebSockets only.
	r.expect(t, 401, http.MethodGet, "/agents", "", "Authorization", "", "Sec-WebSocket-Protocol", "bearer."+token)
	url := "ws" + strings.TrimPrefix(r.URL, "http") + "/ws/events"
	for protocols, works := range map[string]bool{"": false, "bearer.wrong-token-of-the-test": false, "bearer." + token: true} {
		dialer := websocket.Dialer{Subprotocols: []string{"wardroom.events.v1", protocols}}
		conn, response, err := dialer.Dial(url, nil)
		if works != (err == nil) {
			t.Errorf("%q: %v", protocols, err)
		}
		if err == nil {
			if conn.Subprotocol() != "wardroom.events.v1" {
				t.Errorf("the chosen subprotocol is %q", conn.Subprotocol())
			}
			_ = conn.Close()
		} else if response == nil || response.StatusCode != 401 {
			t.Errorf("%q: %v", protocols, response)
		}
	}
}

func TestHostAndOrigin(t *testing.T) {
	r := newRig(t, runtimeserver.Options{Origins: []string{"https://console.example"}, Hosts: []string{"box.local"}})
	host := strings.TrimPrefix(r.URL, "http://")
	for given, status := range map[string]int{
		host: 200, "localhost": 200, "LOCALHOST:3100": 200, "[::1]:3100": 200, "127.0.0.9": 200, "box.local:3100": 200,
		"evil.example": 421, "evil.example:3100": 421, "10.0.0.1": 421, "localhost.evil.example": 421,
	} {
		r.expect(t, status, http.MethodGet, "/agents", "", "Host", given)
	}
	for origin, status := range map[string]int{
		"http://" + host: 200, "https://console.example": 200, "http://evil.example": 403, "http://localhost:5173": 403, "null": 403, "https://console.example.evil": 403,
	} {
		r.expect(t, status, http.MethodGet, "/agents", "", "Origin", origin)
	}
	// With a token the name does not matter: a page that rebinds its name does not have it.
	open := newRig(t, runtimeserver.Options{Token: "a-token-of-the-test"})
	open.expect(t, 200, http.MethodGet, "/agents", "", "Host", "runtime.example")
}

func TestOptionsAreChecked(t *testing.T) {
	rt := runtimetest.NewWorld().Runtime()
	for want, o := range map[string]runtimeserver.Options{
		"needs a Runtime":           {},
		"is not host:port":          {Runtime: rt, Listen: "nonsense"},
		"a token is needed":         {Runtime: rt, Listen: "0.0.0.0:3100"},
		"so a token is needed":      {Runtime: rt, Listen: ":3100"},
		"needs at least 16":         {Runtime: rt, Token: "short"},
		"character 17 of the token": {Runtime: rt, Token: "sixteen-letters-/x"},
	} {
		if _, err := runtimeserver.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		} else if o.Token != "" && strings.Contains(err.Error(), o.Token) {
			t.Errorf("the error tells the token: %v", err)
		}
	}
	for _, listen := range []string{"", "localhost:0", "[::1]:0", "127.0.0.1:3100"} {
		if _, err := runtimeserver.New(runtimeserver.Options{Runtime: rt, Listen: listen}); err != nil {
			t.Errorf("%q: %v", listen, err)
		}
	}
}

func TestFromEnv(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token-in-a-file-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		env           map[string]string
		listen, token string
		bad           string
	}{
		{env: nil, listen: "127.0.0.1:3200"},
		{env: map[string]string{"PORT": "9000"}, listen: "127.0.0.1:9000"},
		{env: map[string]string{"PORT": "9000", "WARDROOM_LISTEN": "0.0.0.0", "WARDROOM_TOKEN": "x"}, listen: "0.0.0.0:9000", token: "x"},
		{env: map[string]string{"WARDROOM_LISTEN": "[::]:1"}, listen: "[::]:1"},
		{env: map[string]string{"WARDROOM_LISTEN": "::1"}, listen: "[::1]:3200"},
		{env: map[string]string{"WARDROOM_TOKEN_FILE": file}, listen: "127.0.0.1:3200", token: "token-in-a-file-1"},
		{env: map[string]string{"PORT": "x"}, bad: "PORT"},
		{env: map[string]string{"PORT": "70000"}, bad: "PORT"},
		{env: map[string]string{"WARDROOM_TOKEN": "x", "WARDROOM_TOKEN_FILE": file}, bad: "both set"},
		{env: map[string]string{"WARDROOM_TOKEN_FILE": file + "x"}, bad: "WARDROOM_TOKEN_FILE"},
	} {
		o, err := runtimeserver.FromEnv(func(name string) string { return test.env[name] }, 3200)
		if test.bad != "" {
			if err == nil || !strings.Contains(err.Error(), test.bad) {
				t.Errorf("%v: %v, want %q", test.env, err, test.bad)
			}
			continue
		}
		if err != nil || o.Listen != test.listen || o.Token != test.token {
			t.Errorf("%v: %+v, %v", test.env, o, err)
		}
	}
	o, err := runtimeserver.FromEnv(func(name string) string { return map[string]string{"WARDROOM_ORIGINS": "https://a, https://b"}[name] }, 1)
	if err != nil || strings.Join(o.Origins, " ") != "https://a https://b" {
		t.Errorf("the origins are %v, %v", o.Origins, err)
	}
}
