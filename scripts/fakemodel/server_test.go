package fakemodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

// noWait stands in for time: nothing waits.
func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// async sends a prompt, and gives the text of the answer, or the error, when it comes.
func async(t *testing.T, server *fakemodel.Server, prompt string) <-chan string {
	t.Helper()
	body, err := json.Marshal(anthropicBody(false, prompt))
	if err != nil {
		t.Fatal(err)
	}
	c, answer := client(t), make(chan string, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		response, err := c.Post(server.URL()+messages, "application/json", bytes.NewReader(body))
		if err != nil {
			answer <- "error: " + err.Error()
			return
		}
		defer response.Body.Close()
		var message struct{ Content []struct{ Text string } }
		if err := json.NewDecoder(response.Body).Decode(&message); err != nil || len(message.Content) != 1 {
			answer <- fmt.Sprintf("%d %v", response.StatusCode, err)
			return
		}
		answer <- message.Content[0].Text
	})
	t.Cleanup(wg.Wait)
	return answer
}

func TestSlowAndHang(t *testing.T) {
	var mu sync.Mutex
	var waits []time.Duration
	server := start(t, fakemodel.Options{ChunkDelay: time.Millisecond, Wait: func(ctx context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, d)
		return ctx.Err()
	}})
	_, data := post(t, server, messages, anthropicBody(true, "HANG[7] SLOW[2]"))
	all := events(t, data)
	check(t, "text", joined(all, "delta.text"), "ANSWER[HANG[7] SLOW[2]] slow1 slow2 slow3 slow4 slow5 slow6 slow7 slow8")
	if waits[0] != 7*time.Second || len(waits) != 11 {
		t.Fatalf("waits are %v, want 7s and one for each of ten words", waits)
	}
	for _, d := range waits[1:] {
		if d != 200*time.Millisecond {
			t.Errorf("waits are %v, want 2s in ten parts", waits)
		}
	}
	waits = nil
	post(t, server, messages, anthropicBody(true, "hello"))
	if len(waits) != 1 || waits[0] != time.Millisecond {
		t.Errorf("waits are %v, want ChunkDelay", waits)
	}
}

func TestFail(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for _, tt := range []struct {
		path   string
		code   int
		kind   string
		google string
	}{
		{messages, 401, "authentication_error", "UNAUTHENTICATED"},
		{"/v1/responses", 429, "rate_limit_error", "RESOURCE_EXHAUSTED"},
		{generate, 403, "permission_error", "PERMISSION_DENIED"},
		{messages, 529, "overloaded_error", "INTERNAL"},
		{streamed, 500, "api_error", "INTERNAL"},
	} {
		prompt := fmt.Sprintf("FAIL[%d]", tt.code)
		body := map[string]any{"input": prompt, "contents": prompt, "messages": []any{map[string]any{"role": "user", "content": prompt}}}
		status, data := post(t, server, tt.path, body)
		got := decode(t, data)
		check(t, "error", fmt.Sprint(status, got.text("error.type"), got.text("error.status"), got.text("error.message")),
			fmt.Sprint(tt.code, tt.kind, tt.google, "fakemodel: FAIL["+fmt.Sprint(tt.code)+"] asked for"))
		if strings.Contains(tt.path, "gemini") && got.at("error.code") != float64(tt.code) {
			t.Errorf("the code is %v; gemini wants the number", got.at("error.code"))
		}
	}
}

func TestHold(t *testing.T) {
	server := start(t, fakemodel.Options{})
	first, second, other := async(t, server, "HOLD[a] 1"), async(t, server, "HOLD[a] 2"), async(t, server, "HOLD[b]")
	for n := 1; n <= 3; n++ {
		if _, err := server.Await(in(t), func(q fakemodel.Request) bool { return q.Seq == uint64(n) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if err := server.AwaitHeld(in(t), name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := server.Release("a"); err != nil {
		t.Fatal(err)
	}
	check(t, "first", <-first, "ANSWER[HOLD[a] 1]")
	check(t, "second", <-second, "ANSWER[HOLD[a] 2]")
	check(t, "later", <-async(t, server, "HOLD[a] 3"), "ANSWER[HOLD[a] 3]") // a stays open
	select {
	case answer := <-other:
		t.Errorf("b is held, and answers %s", answer)
	default:
	}
	server.Reset()
	again := async(t, server, "HOLD[a] 4")
	if err := server.AwaitHeld(in(t), "a"); err != nil {
		t.Fatal(err) // the reset closed a, and b is still held
	}
	for _, name := range []string{"a", "b"} {
		if n, err := server.Release(name); err != nil || n != 1 {
			t.Errorf("%d answers were held at %s, %v, want 1", n, name, err)
		}
	}
	check(t, "after the reset", <-again, "ANSWER[HOLD[a] 4]")
	check(t, "other", <-other, "ANSWER[HOLD[b]]")
}

func TestHoldIsBounded(t *testing.T) {
	server := start(t, fakemodel.Options{MaxHold: time.Millisecond})
	status, data := post(t, server, messages, anthropicBody(false, "HOLD[a]"))
	if message := decode(t, data).text("error.message"); status != 504 || message != "fakemodel: HOLD[a] was not released within 1ms" {
		t.Errorf("%d %q", status, message)
	}
	for i := range 4096 {
		if _, err := server.Release(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := server.Release("one more"); err == nil || !strings.Contains(err.Error(), "reset before releasing more") {
		t.Errorf("the error is %v", err)
	}
}

// A program that goes is noticed while its answer is held.
func TestClientGone(t *testing.T) {
	server := start(t, fakemodel.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := strings.NewReader(`{"messages":[{"role":"user","content":"HOLD[a]"}]}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL()+messages, body)
	if err != nil {
		t.Fatal(err)
	}
	c, gone := client(t), make(chan error, 1)
	go func() {
		_, err := c.Do(request)
		gone <- err
	}()
	if err := server.AwaitHeld(in(t), "a"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-gone; err == nil {
		t.Error("the request was answered")
	}
	q, err := server.Await(in(t), func(q fakemodel.Request) bool { return q.DoneNs != 0 })
	if err != nil || q.Note != "client gone" || q.FirstNs != 0 {
		t.Errorf("logged as %+v, %v", q, err)
	}
}

// Who waits for an answer to begin hears of it then, and not only when something else happens.
func TestAwaitTheFirstByte(t *testing.T) {
	server := start(t, fakemodel.Options{})
	body, err := json.Marshal(anthropicBody(true, "HOLD[a] STALL[100]"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL()+messages, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	c := client(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		if response, err := c.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	})
	if err := server.AwaitHeld(in(t), "a"); err != nil {
		t.Fatal(err)
	}
	looked, begun := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	wg.Go(func() {
		_, err := server.Await(in(t), func(q fakemodel.Request) bool {
			once.Do(func() { close(looked) })
			return q.FirstNs != 0
		})
		begun <- err
	})
	<-looked
	if _, err := server.Release("a"); err != nil {
		t.Fatal(err)
	}
	if err := <-begun; err != nil {
		t.Errorf("the begin of the answer is not told: %v", err)
	}
}

// Close ends answers that are held, slow, or hang, and nothing runs after it.
func TestCloseJoins(t *testing.T) {
	server := start(t, fakemodel.Options{})
	var answers []<-chan string
	for _, prompt := range []string{"HOLD[a]", "HANG[100]", "HOLD[b]"} {
		answers = append(answers, async(t, server, prompt))
	}
	for n := range answers {
		if _, err := server.Await(in(t), func(q fakemodel.Request) bool { return q.Seq == uint64(n+1) }); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
	select {
	case <-server.Done():
	default:
		t.Error("not done after Close")
	}
	for _, answer := range answers {
		if got := <-answer; !strings.HasPrefix(got, "error: ") {
			t.Errorf("answered %q", got)
		}
	}
	for _, q := range server.Requests() {
		if q.DoneNs == 0 {
			t.Errorf("%+v runs after Close", q)
		}
	}
	if err := server.Start(); err == nil {
		t.Error("started again")
	}
}

func TestCloseBeforeStart(t *testing.T) {
	server := fakemodel.New(fakemodel.Options{})
	check(t, "URL", server.URL(), "")
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Start(); err == nil {
		t.Error("started after Close")
	}
}

func TestLifetime(t *testing.T) {
	server := start(t, fakemodel.Options{Lifetime: time.Millisecond})
	select {
	case <-server.Done():
	case <-in(t).Done():
		t.Fatal("still there")
	}
}

func TestAddressInUse(t *testing.T) {
	server := start(t, fakemodel.Options{})
	if err := fakemodel.New(fakemodel.Options{Listen: strings.TrimPrefix(server.URL(), "http://")}).Start(); err == nil {
		t.Error("two servers listen on one address")
	}
}

func TestManyAtOnce(t *testing.T) {
	server := start(t, fakemodel.Options{Keep: 100})
	var wg sync.WaitGroup
	c := client(t)
	for worker := range 20 {
		wg.Go(func() {
			for n := range 10 {
				prompt := fmt.Sprintf("question %d of %d", n, worker)
				body, _ := json.Marshal(anthropicBody(true, prompt))
				response, err := c.Post(server.URL()+messages, "application/json", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				var data bytes.Buffer
				_, err = data.ReadFrom(response.Body)
				response.Body.Close()
				if err != nil || !strings.Contains(data.String(), "ANSWER["+prompt+"]") || !strings.Contains(data.String(), "message_stop") {
					t.Errorf("%q is answered %s, %v", prompt, data.String(), err)
				}
			}
		})
	}
	wg.Wait()
	list := server.Requests()
	if len(list) != 100 || list[99].Seq != 200 {
		t.Fatalf("the log has %d entries up to %d", len(list), list[len(list)-1].Seq)
	}
	for i, q := range list {
		if q.Seq != uint64(101+i) {
			t.Errorf("entry %d is number %d", i, q.Seq)
		}
	}
}

func TestLogAndDump(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	server := start(t, fakemodel.Options{Log: &log, Dump: dir, Now: func() time.Time { return time.Unix(1, 2) }})
	send(t, server, http.MethodPost, messages, strings.NewReader(`{"messages":[{"role":"user","content":"`+strings.Repeat("é", 4000)+`"}]}`),
		http.Header{"X-Api-Key": {"a-secret"}})
	// Lines come in the order in which answers end, and an answer ends just after the program has it.
	if _, err := server.Await(in(t), func(q fakemodel.Request) bool { return q.DoneNs != 0 }); err != nil {
		t.Fatal(err)
	}
	get(t, server, "/nowhere?key=a-secret")
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "000001-anthropic.json" {
		t.Fatalf("dumps are %v, %v", files, err)
	}
	body, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	check(t, "dumped role", decode(t, body).text("messages.0.role"), "user")
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || strings.Contains(log.String()+string(body), "a-secret") {
		t.Fatalf("the log is %q", lines)
	}
	var q fakemodel.Request
	if err := json.Unmarshal([]byte(lines[0]), &q); err != nil {
		t.Fatal(err)
	}
	if q.ReceivedNs != 1e9+2 || len(q.User) != 4096 || q.User != strings.Repeat("é", 2048) {
		t.Errorf("logged as %+v", q)
	}
	check(t, "note", decode(t, []byte(lines[1])).text("note"), "fakemodel: no such path /nowhere")
}

// A folder that vanishes does not stop the answers, and Close says so.
func TestDumpIntoNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dumps")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	server := fakemodel.New(fakemodel.Options{Dump: dir})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if status, _ := post(t, server, messages, anthropicBody(false, "hello")); status != 200 {
		t.Errorf("answers %d", status)
	}
	if err := server.Close(); err == nil {
		t.Error("nothing is said of dumps that cannot be written")
	}
}

func TestOtherPaths(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 200}, {"GET", "/v1/models/x", 200}, {"GET", "/nowhere", 404}, {"POST", "/nowhere", 404},
		{"POST", "/api/event_logging/batch", 200}, {"PUT", "/v1/metrics", 200}, {"POST", "/v1/traces", 200},
	} {
		if status, data := send(t, server, tt.method, tt.path, nil, nil); status != tt.status {
			t.Errorf("%s %s is %d %s, want %d", tt.method, tt.path, status, data, tt.status)
		}
	}
	status, _ := send(t, server, http.MethodGet, "/v1/responses", nil, http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}})
	if status != http.StatusUpgradeRequired {
		t.Errorf("a websocket is %d", status)
	}
}
