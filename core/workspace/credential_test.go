package workspace_test

import (
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

const password = "s3cr3t/tok+en%"

// newServer serves a repository over smart HTTP to those who know the password.
func newServer(t testing.TB, src *source) *httptest.Server {
	t.Helper()
	backend := strings.TrimSpace(runGit(t, "", nil, "--exec-path")) + "/git-http-backend"
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git has no http-backend here")
	}
	src.git("config", "http.receivepack", "true")
	handler := &cgi.Handler{
		Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(src.dir), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=robot", "GIT_CONFIG_GLOBAL=/dev/null"},
		Stderr: logTo{t},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		user, pass, _ := req.BasicAuth()
		if user != "robot" || pass != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return server
}

type logTo struct{ t testing.TB }

func (l logTo) Write(p []byte) (int, error) {
	l.t.Logf("http-backend: %s", p)
	return len(p), nil
}

func secret(text string) func() string { return func() string { return text } }

func TestCredentials(t *testing.T) {
	src := newSource(t)
	server := newServer(t, src)
	url := server.URL + "/source/.git"
	r := newRig(t, func(o *workspace.Options) {
		o.Config.Repositories = map[string]workspace.Repository{"app": {URL: url, Username: "robot", Password: secret(password)}}
	})
	w := r.provision("x", core.WorkspaceSpec{Repo: "app"})
	if w.URL != url {
		t.Errorf("URL %q", w.URL)
	}
	write(t, filepath.Join(w.Path, "a.txt"), "a\n")
	artifacts, err := r.FinishWorkspace(soon(t), w.ID, core.ThreadFinish{Commit: true, Push: true}, "m")
	if err != nil || len(artifacts) != 2 || artifacts[1].Value != url+"#"+w.WorkBranch {
		t.Fatalf("finish: %v, %v", artifacts, err)
	}
	if src.git("rev-parse", w.WorkBranch) != artifacts[0].Value {
		t.Error("the push did not arrive")
	}
	// The URL alone finds the credentials as well.
	r.provision("y", core.WorkspaceSpec{Repo: url})
	r.Service.Close()
	if err := filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(read(t, path), "s3cr3t") {
			t.Errorf("the password is on disk in %s", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if strings.Contains(r.log.String(), "s3cr3t") {
		t.Error("the password is in the log")
	}
}

func TestCredentialsRefused(t *testing.T) {
	src := newSource(t)
	server := newServer(t, src)
	url := server.URL + "/source/.git"
	r := newRig(t, func(o *workspace.Options) {
		o.Config.AllowedURLs = []string{"http://127.0.0.1:*"}
		o.Config.Repositories = map[string]workspace.Repository{
			"wrong":  {URL: url, Username: "robot", Password: secret("wr0ng-passw0rd")},
			"absent": {URL: server.URL + "/absent/.git", Username: "robot", Password: secret(password)},
		}
	})
	for repo, words := range map[string]string{
		"wrong": "username and password of threads.repositories", "absent": "no repository",
		server.URL + "/source": "threads.repositories with username and password",
	} {
		_, err := r.ReserveWorkspace(soon(t), core.WorkspaceRequest{ExecutionID: "exec_1", Spec: core.WorkspaceSpec{Repo: repo}})
		e := wantError(t, err, core.CodeValidation, words)
		if text, _ := e.Details["git"].(string); strings.Contains(e.Error()+text, "passw0rd") || strings.Contains(e.Error()+text, "s3cr3t") {
			t.Errorf("the password is in the error: %v", e)
		}
		if e.Details["field"] != "preparation.workspace.repo" {
			t.Errorf("field %v", e.Details["field"])
		}
	}
}

// A remote that sends git elsewhere does not get the credentials sent there.
func TestCredentialsStayAtTheirHost(t *testing.T) {
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "" {
			leaked.Store(true)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(elsewhere.Close)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, elsewhere.URL+req.URL.RequestURI(), http.StatusFound)
	}))
	t.Cleanup(first.Close)
	r := newRig(t, func(o *workspace.Options) {
		o.Config.Repositories = map[string]workspace.Repository{"app": {URL: first.URL + "/x.git", Username: "robot", Password: secret(password)}}
	})
	_, err := r.ReserveWorkspace(soon(t), core.WorkspaceRequest{ExecutionID: "exec_1", Spec: core.WorkspaceSpec{Repo: "app"}})
	wantError(t, err, core.CodeValidation)
	if leaked.Load() {
		t.Error("the credentials went to another host")
	}
}

func TestHostUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL + "/x.git"
	server.Close()
	r := newRig(t, func(o *workspace.Options) {
		o.Config.Repositories = map[string]workspace.Repository{"app": {URL: url}}
	})
	_, err := r.ReserveWorkspace(soon(t), core.WorkspaceRequest{ExecutionID: "exec_1", Spec: core.WorkspaceSpec{Repo: "app"}})
	if e := wantError(t, err, core.CodeInternal, "does not answer"); !e.Unavailable || e.Details["reason"] != "host_unreachable" {
		t.Errorf("%+v", e)
	}
}

// A remote that takes the connection and never answers is given up.
func TestRemoteHangs(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gone }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(gone) })
	r := newRig(t, func(o *workspace.Options) {
		o.Config.FetchTimeout = 1 // nanosecond
		o.Config.Repositories = map[string]workspace.Repository{"app": {URL: server.URL + "/x.git"}}
	})
	_, err := r.ReserveWorkspace(soon(t), core.WorkspaceRequest{ExecutionID: "exec_1", Spec: core.WorkspaceSpec{Repo: "app"}})
	if e := wantError(t, err, core.CodeInternal, "too long"); !e.Unavailable {
		t.Errorf("%+v", e)
	}
}

func TestNoGit(t *testing.T) {
	r := newRig(t, func(o *workspace.Options) { o.Git = "/nonexistent/git" })
	_, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1", Spec: core.WorkspaceSpec{Repo: "file:///srv/x"}})
	if e := wantError(t, err, core.CodeInternal, "git is missing"); !e.Unavailable {
		t.Errorf("%+v", e)
	}
	r.provision("x", core.WorkspaceSpec{}) // one without a repository needs none
}
