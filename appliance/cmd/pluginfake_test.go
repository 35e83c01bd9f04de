package cmd_test

import (
	"fmt"
	"io"
	"net/http"
)

// pluginRow is a plugin; its fields are name, state and more of them.
const pluginRow = `{"name":%q,"kind":"runtime","version":"1.0.0","state":%q,"since":"2026-01-02T03:04:05.000Z","required":false,"enabled":true,` +
	`"configured":true,"path":"/usr/lib/wardroom/plugins/x","sha256":"ab12","features":[],"restarts":0,"failures":0%s}`

// plugin is the plugin of a name: runtime-broken failed, runtime-dry is not well.
func plugin(name, more string) string {
	switch name {
	case "runtime-broken":
		return fmt.Sprintf(pluginRow, name, "quarantined", `,"reason":"its process ended: exit status 3","hint":"see its log"`+more)
	case "runtime-dry":
		return fmt.Sprintf(pluginRow, name, "ready", `,"pid":7,"health":"degraded","healthReason":"little ink"`+more)
	case "runtime-off":
		return fmt.Sprintf(pluginRow, name, "disabled", `,"reason":"it is not enabled"`+more)
	}
	return fmt.Sprintf(pluginRow, name, "ready", `,"pid":4711,"startedAt":"2026-01-02T03:04:05.000Z","protocol":1,"health":"ok"`+more)
}

// plugins adds the operations of plugins.
func (f *fake) plugins(handle func(route string, h func(w http.ResponseWriter, r *http.Request, body string))) {
	one := func(h func(w http.ResponseWriter, r *http.Request, name string)) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, r *http.Request, _ string) {
			name := r.PathValue("name")
			if name == "nosuch" {
				missing(w, "plugin", name)
				return
			}
			h(w, r, name)
		}
	}
	handle("GET /api/admin/plugins", func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, 200, `{"plugins":[`+plugin("runtime-broken", "")+`,`+plugin("runtime-dry", "")+`,`+plugin("runtime-off", "")+`,`+
			plugin("runtime-pen", "")+`],"total":4}`)
	})
	handle("GET /api/admin/plugins/{name}", one(func(w http.ResponseWriter, _ *http.Request, name string) {
		say(w, 200, plugin(name, `,"schema":{"type":"object"},"examples":[{"ink":"blue"}],"checks":[{"name":"ink","status":"degraded","text":"1 ml"}]`))
	}))
	handle("POST /api/admin/plugins/{name}/verify", one(func(w http.ResponseWriter, _ *http.Request, name string) {
		if name == "runtime-broken" {
			say(w, 200, `{"name":"runtime-broken","ok":false,"checks":[{"name":"files","status":"failed","text":"the checksum differs"},{"name":"handshake","status":"skipped","text":"after the failure"}]}`)
			return
		}
		say(w, 200, `{"name":"runtime-pen","ok":true,"checks":[{"name":"files","status":"ok","text":"fine"},{"name":"settings","status":"warning","text":"fades"}]}`)
	}))
	for _, what := range []string{"enable", "restart"} {
		handle("POST /api/admin/plugins/{name}/"+what, one(func(w http.ResponseWriter, _ *http.Request, name string) { say(w, 200, plugin(name, "")) }))
	}
	handle("POST /api/admin/plugins/{name}/disable", one(func(w http.ResponseWriter, _ *http.Request, name string) {
		if name == "runtime-dry" {
			refuse(w, 409, "CONFLICT", "the plugin runtime-dry is required", `{"resource":"plugin","id":"runtime-dry"}`)
			return
		}
		say(w, 200, plugin("runtime-off", ""))
	}))
	const line = `{"timestamp":"2026-01-02T03:04:05.678Z","level":"%s","message":"%s"%s}`
	handle("GET /api/admin/plugins/{name}/logs", one(func(w http.ResponseWriter, r *http.Request, _ string) {
		first, second := fmt.Sprintf(line, "info", "configured", ""), fmt.Sprintf(line, "error", `panic\u001b[31m`, `,"lost":2`)
		if r.URL.Query().Get("follow") == "true" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "retry: 1\n\nevent: log\ndata: "+first+"\n\nevent: log\ndata: "+second+"\n\n")
			return
		}
		say(w, 200, `{"logs":[`+first+`,`+second+`],"tail":200}`)
	}))
	handle("GET /api/admin/log", func(w http.ResponseWriter, r *http.Request, _ string) {
		q := r.URL.Query()
		said := fmt.Sprintf(line, "warn", "level="+q.Get("level")+" text="+q.Get("text")+" since="+q.Get("since")+" tail="+q.Get("tail"), `,"part":"wardroom.store"`)
		if q.Get("follow") == "true" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "retry: 1\n\nevent: log\ndata: "+said+"\n\n")
			return
		}
		say(w, 200, `{"logs":[`+said+`],"tail":200}`)
	})
}
