package appliance

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxAdminBody bounds the body of a request to the admin socket that is not one to the API.
const maxAdminBody = 64 << 10

// adminRoutes returns the handler of the admin socket: the API under its paths, and under /admin the local operations.
func (a *App) adminRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", a.api.Handler())
	handle := func(pattern string, fn func(w http.ResponseWriter, r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxAdminBody)
			body, err := fn(w, r)
			if err != nil {
				writeAdminError(w, err)
				return
			}
			writeAdminJSON(w, http.StatusOK, body)
		})
	}
	handle("GET /admin/status", func(_ http.ResponseWriter, r *http.Request) (any, error) { return a.status(r.Context()) })
	handle("POST /admin/reload", func(http.ResponseWriter, *http.Request) (any, error) {
		if err := a.Reload(); err != nil {
			a.log.Error("the configuration was not reloaded; the old one stays in effect", "error", err)
			return nil, err
		}
		return wire.AdminReload{
			Files: slices.Concat([]string{}, a.config.Load().Files()), WaitForRestart: slices.Concat([]string{}, a.waitForRestart()),
		}, nil
	})
	handle("GET /admin/log", func(http.ResponseWriter, *http.Request) (any, error) { return a.logLevel(), nil })
	handle("PUT /admin/log", a.putLogLevel)
	mux.HandleFunc("GET /admin/config", func(w http.ResponseWriter, _ *http.Request) {
		text, err := config.Show(a.config.Load())
		if err != nil {
			writeAdminError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(text) // a client that left needs no answer
	})
	handle("POST /admin/store/key/rotate", a.rotateStoreKey)
	mux.HandleFunc("GET /admin/backup", a.sendBackup)
	mux.HandleFunc("GET /admin/recent-log", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(a.recent.Bytes()) // likewise
	})
	mux.HandleFunc("GET /admin/debug/pprof/", func(w http.ResponseWriter, r *http.Request) {
		switch name := strings.TrimPrefix(r.URL.Path, "/admin/debug/pprof/"); name {
		case "":
			pprof.Index(w, r)
		case "cmdline":
			http.NotFound(w, r) // arguments of the process are not for profiles
		case "profile":
			pprof.Profile(w, r)
		case "symbol":
			pprof.Symbol(w, r)
		case "trace":
			pprof.Trace(w, r)
		default:
			pprof.Handler(name).ServeHTTP(w, r)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeAdminError(w, core.NotFound("path", r.URL.Path))
	})
	return mux
}

func writeAdminJSON(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"INTERNAL_ERROR","message":"the answer cannot be written"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that left needs no answer
}

func writeAdminError(w http.ResponseWriter, err error) {
	var body wire.AdminError
	e := core.AsError(err)
	body.Error.Code, body.Error.Message = string(e.Code), e.Message
	for _, p := range config.Problems(err) {
		body.Error.Problems = append(body.Error.Problems, p.String())
	}
	status := http.StatusInternalServerError
	switch e.Code {
	case core.CodeValidation:
		status = http.StatusBadRequest
	case core.CodeUnauthorized:
		status = http.StatusUnauthorized
	case core.CodeNotFound:
		status = http.StatusNotFound
	case core.CodeConflict:
		status = http.StatusConflict
	}
	writeAdminJSON(w, status, body)
}

// recordLocal records what the operator of this machine changed or took out over the admin socket, and how it ended; details are
// those of a success. The first part of the action is the type of what was changed.
func (a *App) recordLocal(r *http.Request, action string, err error, details map[string]any) {
	kind, _, _ := strings.Cut(action, ".")
	entry := core.AuditEntry{
		Category: wire.AuditAdmin, Action: action, Outcome: wire.AuditSuccess, Resource: wire.AuditResource{Type: kind}, Details: details,
		Request: wire.AuditRequest{Method: r.Method, Path: r.URL.Path},
	}
	if p, ok := localPrincipal(r.Context()); ok {
		entry.Actor = wire.AuditActor{Type: string(p.Kind), ID: p.ID}
	}
	if err != nil {
		entry.Outcome, entry.Details = wire.AuditFailure, map[string]any{"code": string(core.ErrorCode(err))}
	}
	if failed := a.audit.Record(r.Context(), entry); failed != nil {
		a.log.Warn("an audit record was not kept", "action", action, "error", failed)
	}
}

func (a *App) logLevel() wire.AdminLog {
	return wire.AdminLog{Level: a.log.GetLevel().String(), Configured: a.config.Load().Log.Level, Parts: a.levels.list()}
}

// putLogLevel changes the level of the log, or of a part of it, until the next reload or restart.
func (a *App) putLogLevel(_ http.ResponseWriter, r *http.Request) (any, error) {
	var body wire.AdminLog
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		return nil, core.Invalid("level", "the body must be {\"level\": LEVEL}, with \"part\": PART for one part alone")
	}
	level := hclog.LevelFromString(body.Level)
	if level == hclog.NoLevel || level == hclog.Off {
		return nil, core.Invalid("level", "must be one of %s", strings.Join(core.LogLevels, ", "))
	}
	details := map[string]any{"level": level.String()}
	if body.Part != "" {
		if !a.levels.known(body.Part) {
			return nil, core.Invalid("part", "%q is no part of the server; they are %s", body.Part, strings.Join(a.levels.names(), ", "))
		}
		details["part"] = body.Part
	}
	details["before"] = hclog.Level(a.levels.of(body.Part).Load()).String()
	a.levels.set(body.Part, level)
	a.plugins.RefreshLogLevels()
	a.recordLocal(r, "log.level", nil, details)
	return a.logLevel(), nil
}

// waitForRestart names the keys of the file that a reload left as they were.
func (a *App) waitForRestart() []string {
	loaded, err := load(a.opts)
	if err != nil {
		return nil
	}
	return config.NeedsRestart(a.config.Load(), loaded)
}
