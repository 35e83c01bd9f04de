package cmd_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/atrest"
)

// output is a buffer that a test may read while the command writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// execution of the command line in this process.
type run struct {
	code           int
	stdout, stderr output
	done           chan struct{}
}

// start begins a command line against a server; wait for done before reading code.
func start(ctx context.Context, server string, deps cmd.Deps, args ...string) *run {
	r := &run{done: make(chan struct{})}
	deps.Stdout, deps.Stderr = &r.stdout, &r.stderr
	if deps.Stdin == nil {
		deps.Stdin = strings.NewReader("")
	}
	deps.Getenv = func(key string) string {
		if key == "WARDROOM_SERVER" {
			return server
		}
		return ""
	}
	go func() {
		defer close(r.done)
		r.code = cmd.Execute(ctx, deps, args)
	}()
	return r
}

func execute(t *testing.T, server string, args ...string) *run {
	t.Helper()
	r := start(t.Context(), server, cmd.Deps{}, args...)
	<-r.done
	return r
}

func (r *run) expect(t *testing.T, code int, stderr ...string) {
	t.Helper()
	<-r.done
	if r.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, &r.stdout, &r.stderr)
	}
	for _, want := range stderr {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("stderr has no %q:\n%s", want, &r.stderr)
		}
	}
}

// flush sends what was written, so that a client sees it while the handler goes on.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

func TestInterruptedStream(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 1\nevent: started\ndata: {\"executionId\":\"exec_7\",\"status\":\"running\"}\n\n")
		flush(w)
		<-r.Context().Done()
	})
	for _, args := range [][]string{{"run", "x", "--stream"}, {"execution", "watch", "exec_7"}} {
		ctx, cancel := context.WithCancel(t.Context())
		r := start(ctx, url, cmd.Deps{}, args...)
		coretest.WaitFor(t, "the first event", func() bool { return strings.Contains(r.stdout.String(), "started") })
		cancel()
		r.expect(t, 130, "error: interrupted", "wardroom execution watch exec_7", "wardroom execution cancel exec_7")
	}
}

func TestInterruptedWait(t *testing.T) {
	asked := make(chan string, 1)
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Idempotency-Key")
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices that the client left
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := start(ctx, url, cmd.Deps{}, "run", "x")
	key := <-asked
	cancel()
	r.expect(t, 130, "the execution goes on", "--idempotency-key "+key)
}

func TestInterruptedBatch(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"batchId":"batch_7","status":"running","total":9,"completed":3,"failed":1}`)
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := start(ctx, url, cmd.Deps{Stdin: strings.NewReader(`[{}]`)}, "batch", "run", "-", "--pattern", "x")
	coretest.WaitFor(t, "progress", func() bool { return strings.Contains(r.stderr.String(), "4 of 9 done, 1 failed") })
	cancel()
	r.expect(t, 130, "wardroom batch watch batch_7", "wardroom batch cancel batch_7")
}

// TestBatchOutlivesRestart has the server go away in each way it can, at the start and in the middle.
func TestBatchOutlivesRestart(t *testing.T) {
	var mu sync.Mutex
	keys := map[string]bool{}
	answers := []string{"hang up", "503", "started", "running", "hang up", "503", "502", "running", "completed"}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		if r.Method == http.MethodPost {
			keys[r.Header.Get("Idempotency-Key")] = true
		}
		mu.Unlock()
		switch answer {
		case "hang up":
			panic(http.ErrAbortHandler)
		case "503":
			w.WriteHeader(503)
			_, _ = io.WriteString(w, `{"error":{"code":"INTERNAL_ERROR","message":"the service is stopping"}}`)
		case "502":
			w.WriteHeader(502)
		case "started":
			_, _ = io.WriteString(w, `{"batchId":"b","status":"running","total":4}`)
		default:
			_, _ = io.WriteString(w, `{"batchId":"b","status":"`+answer+`","total":4,"completed":4}`)
		}
	})
	r := start(t.Context(), url, cmd.Deps{Stdin: strings.NewReader(`[{}]`)}, "batch", "run", "-", "--pattern", "x")
	r.expect(t, 0, "the server is away", "the server is back")
	if len(keys) != 1 || keys[""] {
		t.Errorf("the start was sent with the keys %v, want one", keys)
	}
}

func TestBatchGivesUpOnServer(t *testing.T) {
	var started atomic.Bool
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if started.CompareAndSwap(false, true) {
			_, _ = io.WriteString(w, `{"batchId":"b","status":"running","total":4}`)
			return
		}
		w.WriteHeader(503)
	})
	r := start(t.Context(), url, cmd.Deps{Stdin: strings.NewReader(`[{}]`)},
		"batch", "run", "-", "--pattern", "x", "--wait", "250ms")
	r.expect(t, 7, "waiting up to 250ms", "gave up after 250ms")
}

// TestRunOutlivesRestart repeats a synchronous run with the same key.
func TestRunOutlivesRestart(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		n := len(keys)
		mu.Unlock()
		if n < 3 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"executionId":"e","status":"completed","result":1}`)
	})
	r := execute(t, url, "run", "x")
	r.expect(t, 0, "the server is back")
	if len(keys) < 3 || keys[0] == "" || keys[0] != keys[len(keys)-1] {
		t.Errorf("keys = %q", keys)
	}
}

func TestTimeout(t *testing.T) {
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	execute(t, url, "status", "--timeout", "50ms").expect(t, 6, "no answer within 50ms", "--timeout")
}

func TestToken(t *testing.T) {
	var got atomic.Value
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization") + " " + r.UserAgent())
		_, _ = io.WriteString(w, `{}`)
	})
	execute(t, url, "pattern", "list", "--token", "wr_x").expect(t, 0)
	if text, _ := got.Load().(string); !strings.HasPrefix(text, "Bearer wr_x wardroom-cli/") {
		t.Errorf("sent %q", text)
	}
}

func TestUnhealthy(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"status":"unhealthy","version":"1"}`)
	})
	r := execute(t, url, "status")
	r.expect(t, 7, "the server is unhealthy")
	if !strings.Contains(r.stdout.String(), "status:   unhealthy") {
		t.Errorf("stdout = %s", &r.stdout)
	}
}

// TestServe checks what the product is asked to do, and what its end means.
func TestServe(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		err  error
		code int
		want cmd.RunOptions
	}{
		{"Serve", []string{"serve", "--config", "f.yaml"}, nil, 0, cmd.RunOptions{ConfigPath: "f.yaml"}},
		{"Insecure", []string{"serve", "--config", "f.yaml", "--insecure"}, nil, 0, cmd.RunOptions{ConfigPath: "f.yaml", Insecure: true}},
		{"Dev", []string{"dev", "--listen", "localhost:0", "--data-dir", "/d"}, nil, 0,
			cmd.RunOptions{Dev: true, Listen: "localhost:0", DataDir: "/d"}},
		{"BadConfig", []string{"serve", "--config", "f.yaml"}, core.Invalid("a", "b"), 78, cmd.RunOptions{ConfigPath: "f.yaml"}},
		{"NoConfig", []string{"serve", "--config", "f.yaml"}, core.NotFound("file", "f.yaml"), 78, cmd.RunOptions{ConfigPath: "f.yaml"}},
		{"Failure", []string{"serve", "--config", "f.yaml"}, errors.New("disk on fire"), 1, cmd.RunOptions{ConfigPath: "f.yaml"}},
		{"Unavailable", []string{"serve", "--config", "f.yaml"}, core.Unavailable("x", "y"), 7, cmd.RunOptions{ConfigPath: "f.yaml"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got cmd.RunOptions
			r := start(t.Context(), "", cmd.Deps{Run: func(_ context.Context, opts cmd.RunOptions) error {
				got = opts
				return tt.err
			}}, tt.args...)
			r.expect(t, tt.code)
			if got.Version == "" || got.Stderr == nil || got.Ready == nil {
				t.Errorf("options = %+v", got)
			}
			got.Version, got.Stderr, got.Ready = "", nil, nil
			if got.ConfigPath != tt.want.ConfigPath || got.Dev != tt.want.Dev || got.Listen != tt.want.Listen ||
				got.DataDir != tt.want.DataDir || got.Insecure != tt.want.Insecure {
				t.Errorf("options = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestServeStoppedWhileStarting makes an early signal the same orderly end as a late one.
func TestServeStoppedWhileStarting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := start(ctx, "", cmd.Deps{Run: func(ctx context.Context, _ cmd.RunOptions) error { return ctx.Err() }},
		"serve", "--config", "f.yaml")
	r.expect(t, 0)
}

func TestDevTemporaryData(t *testing.T) {
	var dir string
	r := start(t.Context(), "", cmd.Deps{Run: func(_ context.Context, opts cmd.RunOptions) error {
		dir = opts.DataDir
		return os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)
	}}, "dev")
	r.expect(t, 0)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	data, dump, restored := filepath.Join(dir, "data"), filepath.Join(dir, "dump"), filepath.Join(dir, "restored")
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(data, "store"), MinFreeBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "dump", dump, "--data-dir", data).expect(t, 4, "in use", "stop the server first")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := execute(t, "", "store", "dump", dump, "--data-dir", data)
	r.expect(t, 0)
	if !strings.Contains(r.stdout.String(), "sha256:") {
		t.Errorf("stdout = %s", &r.stdout)
	}
	execute(t, "", "store", "dump", dump, "--data-dir", data).expect(t, 4, "exists", "--force")
	execute(t, "", "store", "dump", dump, "--data-dir", data, "--force").expect(t, 0)
	execute(t, "", "store", "verify", dump, "-o", "json").expect(t, 0)
	execute(t, "", "store", "restore", dump, "--data-dir", restored).expect(t, 0)
	execute(t, "", "store", "restore", dump, "--data-dir", restored).expect(t, 4, "is not empty")
	execute(t, "", "store", "dump", filepath.Join(dir, "again"), "--data-dir", restored).expect(t, 0)

	whole, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(dir, "again")); err != nil || !bytes.Equal(whole, again) {
		t.Errorf("the restored store dumps differently (%v)", err)
	}
	piped := start(t.Context(), "", cmd.Deps{}, "store", "dump", "-", "--data-dir", data)
	piped.expect(t, 0)
	if piped.stdout.String() != string(whole) {
		t.Error("stdout holds something else than the dump")
	}
	if err := os.WriteFile(dump, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "verify", dump).expect(t, 2, "not a whole dump")
	execute(t, "", "store", "restore", dump, "--data-dir", filepath.Join(dir, "other")).expect(t, 2, "not a whole dump")
	execute(t, "", "backup", "verify", dump).expect(t, 2, "it is none", "`wardroom store restore`")
	if err := os.WriteFile(dump, []byte("no dump of a store"), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "verify", dump).expect(t, 2, "does not begin as one", "`wardroom backup restore`")
	execute(t, "", "store", "dump", dump, "--data-dir", filepath.Join(dir, "nosuch")).expect(t, 2, "holds no store")
	execute(t, "", "store", "dump", "x").expect(t, 2, "--data-dir or --config is missing")
	execute(t, "", "store", "verify", filepath.Join(dir, "nosuch")).expect(t, 2, "no such file")
	left, err := filepath.Glob(filepath.Join(dir, ".*.part-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestStoreKeyLeftOver makes keys beside the temporary file that a crash left, which holds keys too, and leaves none.
func TestStoreKeyLeftOver(t *testing.T) {
	dir := t.TempDir()
	key, temp := filepath.Join(dir, "store.key"), filepath.Join(dir, ".store.key.new")
	for _, args := range [][]string{{key}, {key, "--add"}} {
		if err := os.WriteFile(temp, []byte("of a crash"), 0o600); err != nil {
			t.Fatal(err)
		}
		execute(t, "", append([]string{"store", "key", "new"}, args...)...).expect(t, 0)
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("%v: the directory holds %v, %v", args, entries, err)
		}
		if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v: %v, %v", args, info, err)
		}
	}
	if keys, err := os.ReadFile(key); err != nil || strings.Count(string(keys), "# Master key") != 2 {
		t.Errorf("%v", err)
	}
	execute(t, "", "store", "key", "new", filepath.Join(dir, "nosuch", "key")).expect(t, 2, "no such file")
}

// TestStoreEncrypted dumps an encrypted store and restores it, with its key only.
func TestStoreEncrypted(t *testing.T) {
	dir := t.TempDir()
	data, key, other, dump := filepath.Join(dir, "data"), filepath.Join(dir, "store.key"), filepath.Join(dir, "other.key"), filepath.Join(dir, "dump")
	execute(t, "", "store", "key", "new", key).expect(t, 0)
	execute(t, "", "store", "key", "new", other).expect(t, 0)
	execute(t, "", "store", "key", "new", key).expect(t, 4, "exists", "--add")
	s, err := store.Open(t.Context(), store.Options{Path: data, MinFreeBytes: 1, Encryption: &store.Encryption{Source: atrest.FromFile(key, "")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "key", "new", key, "--add").expect(t, 0) // the former one still opens
	execute(t, "", "store", "dump", dump, "--data-dir", data).expect(t, 1, "is encrypted", "--store-key")
	execute(t, "", "store", "dump", dump, "--data-dir", data, "--store-key", key).expect(t, 0)
	execute(t, "", "store", "verify", dump).expect(t, 2, "is encrypted", "--store-key")
	execute(t, "", "store", "verify", dump, "--store-key", other).expect(t, 2, "it was encrypted by key")
	execute(t, "", "store", "verify", dump, "--store-key", key).expect(t, 0)
	execute(t, "", "store", "restore", dump, "--data-dir", filepath.Join(dir, "again"), "--store-key", key).expect(t, 0)
	execute(t, "", "store", "check", "--data-dir", filepath.Join(dir, "again")).expect(t, 1, "is encrypted", "--store-key")
	execute(t, "", "store", "check", "--data-dir", filepath.Join(dir, "again"), "--store-key", key).expect(t, 0)
	clear := filepath.Join(dir, "clear")
	execute(t, "", "store", "dump", clear, "--data-dir", data, "--store-key", key, "--clear").expect(t, 0)
	execute(t, "", "store", "verify", clear).expect(t, 0)
	whole, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dump, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "verify", dump, "--store-key", key).expect(t, 2, "changed or ends too early")
}

// TestStoreRepair lists a record that cannot be read, keeps a copy of it and removes it.
func TestStoreRepair(t *testing.T) {
	dir := t.TempDir()
	data, export := filepath.Join(dir, "data"), filepath.Join(dir, "export")
	s, err := store.Open(t.Context(), store.Options{Path: data, MinFreeBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "check", "--data-dir", data).expect(t, 4, "in use", "stop the server first")
	for i := range 2 {
		e := &core.Execution{
			ID: fmt.Sprintf("exec_01JABCDEFGHJKMNPQRSTVWXYZ%d", i), Pattern: core.PatternRef{Name: "vote", Version: "1"},
			Status: core.ExecutionCompleted, CancelReason: fmt.Sprintf("a mark of %d", i),
		}
		if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.PutExecution(e) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data = spoilStore(t, data, `"a mark of 0"`, `[a mark of 0]`)
	r := execute(t, "", "store", "check", "--data-dir", data)
	r.expect(t, 1, "needs a repair", "wardroom store repair")
	if out := r.stdout.String(); !strings.Contains(out, "exec_01JABCDEFGHJKMNPQRSTVWXYZ0") || strings.Contains(out, "WXYZ1") {
		t.Errorf("stdout = %s", out)
	}
	r = execute(t, "", "store", "check", "--data-dir", data, "-o", "json")
	r.expect(t, 1)
	var answer struct {
		Well   bool
		Broken int
		List   []struct{ Kind, ID, Reason string }
	}
	if err := json.Unmarshal([]byte(r.stdout.String()), &answer); err != nil || answer.Well || answer.Broken != 1 ||
		len(answer.List) != 1 || answer.List[0].Kind != "execution" || answer.List[0].Reason == "" {
		t.Errorf("%+v, %v", answer, err)
	}
	execute(t, "", "store", "repair", "--data-dir", data).expect(t, 2, "--export is missing")
	execute(t, "", "store", "repair", "--data-dir", data, "--export", export).expect(t, 0)
	if kept, err := os.ReadFile(export); err != nil || !strings.Contains(string(kept), "rawKey") {
		t.Errorf("the export: %.100s, %v", kept, err)
	}
	execute(t, "", "store", "repair", "--data-dir", data, "--export", export).expect(t, 4, "exists", "--force")
	execute(t, "", "store", "check", "--data-dir", data).expect(t, 0)

	keep := func(*config.Config) store.Policy { return store.Policy{Executions: time.Hour} }
	r = start(t.Context(), "", cmd.Deps{Retention: keep}, "store", "usage", "--data-dir", data, "-o", "json")
	r.expect(t, 0)
	var usage struct {
		Kinds []struct {
			Kind                   string
			Records, Bytes, Remove int
		}
	}
	if err := json.Unmarshal([]byte(r.stdout.String()), &usage); err != nil || len(usage.Kinds) != len(store.UsageKinds) ||
		usage.Kinds[0].Kind != store.KindExecutions || usage.Kinds[0].Records != 1 || usage.Kinds[0].Remove != 1 || usage.Kinds[0].Bytes == 0 {
		t.Errorf("%+v, %v", usage, err)
	}
}

// spoilStore makes a copy of a store in which some bytes are others, and returns where it is.
func spoilStore(t *testing.T, data, from, to string) string {
	t.Helper()
	dir := t.TempDir()
	dump, spoiled := filepath.Join(dir, "dump"), filepath.Join(dir, "spoiled")
	execute(t, "", "store", "dump", dump, "--data-dir", data).expect(t, 0)
	whole, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Replace(whole[:len(whole)-sha256.Size], []byte(from), []byte(to), 1)
	sum := sha256.Sum256(body)
	if err := os.WriteFile(dump, append(body, sum[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "restore", dump, "--data-dir", spoiled).expect(t, 0)
	return spoiled
}

// TestStoreByConfig finds the folder in the configuration.
func TestStoreByConfig(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "here"), MinFreeBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "wardroom.yaml")
	if err := os.WriteFile(file, []byte("store:\n  path: here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "dump", filepath.Join(dir, "dump"), "--config", file).expect(t, 0)
}

// TestCommandsListed holds docs/cli.md to the tree: each command and each of its own flags is in it.
func TestCommandsListed(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range cmd.Undocumented(string(text)) {
		t.Errorf("docs/cli.md does not tell of %s", missing)
	}
}

// TestHostileNames keeps control characters of others away from the terminal.
func TestHostileNames(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"executions":[{"executionId":"e","pattern":"p\u001b[2J\u202e","status":"failed","duration":1}]}`)
	})
	r := execute(t, url, "execution", "list")
	r.expect(t, 0)
	if out := r.stdout.String(); strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("control characters reach the terminal: %q", out)
	}
}

// TestListWatch shows a list anew when it changed, bears a server that goes away, and ends well with Ctrl-C.
func TestListWatch(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch n := asked.Add(1); n {
		case 2:
			panic(http.ErrAbortHandler)
		default:
			_, _ = fmt.Fprintf(w, `{"executions":[{"executionId":"exec_%d","pattern":"p","status":"running"}],"total":1}`, min(n, 3))
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := start(ctx, url, cmd.Deps{}, "execution", "list", "--watch")
	coretest.WaitFor(t, "the second list", func() bool { return strings.Contains(r.stdout.String(), "exec_3 ") })
	cancel()
	r.expect(t, 0)
	if n := strings.Count(r.stdout.String(), "EXECUTION"); n != 2 {
		t.Errorf("%d lists, want 2:\n%s", n, &r.stdout)
	}
}
