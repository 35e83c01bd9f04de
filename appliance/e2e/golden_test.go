package e2e_test

import (
	"bytes"
	bigendian "encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGoldens drives the binary through a fixed job and compares all that users, agents and receivers see of it, and what
// lies in the store afterwards, with the files in testdata/golden. A change that is meant to change nothing leaves them
// as they are; one that changes them is written down by `go test ./appliance/e2e -run TestGoldens -update`, and its
// commit says what changed for users and why that is better.
func TestGoldens(t *testing.T) {
	s := dev(t)
	g := newGolden(s)
	openAPI := g.request("GET", "/api/openapi.json", "")
	patterns, agents := g.patterns(), g.agents()
	executions, events := g.executions()
	others := g.others()
	hooks := g.steady(strings.Join(g.receiver.deliveries(t, 9), ""))
	eventually(t, "all deliveries to be recorded", func() bool {
		return bytes.Contains(g.request("GET", "/api/webhooks/"+g.hook, "").body, []byte(`"deliveriesSucceeded":9`))
	})
	log := g.log()
	s.stop()
	g.compare("openapi.txt", g.steady(lines(t, "", openAPI.body, 4)))
	g.compare("patterns.txt", patterns)
	g.compare("agent.txt", agents)
	g.compare("executions.txt", executions)
	g.compare("events.txt", events)
	g.compare("others.txt", others)
	g.compare("webhooks.txt", hooks)
	g.compare("log.txt", log)
	g.compare("help.txt", g.help())
	g.compare("store.txt", g.dump())
}

// golden runs the job. What differs from run to run is replaced in all that it records: ids by their order of
// appearance, and times, durations and addresses by words.
type golden struct {
	*server
	receiver *hookReceiver
	client   *http.Client // bare: what it gets is compared byte by byte
	hook     string       // id of the receiver's endpoint
	agent    *websocket.Conn
	frames   bytes.Buffer
	ids      map[string]string
	counts   map[string]int
}

func newGolden(s *server) *golden {
	s.t.Helper()
	g := &golden{server: s, receiver: newHookReceiver(s.t), client: &http.Client{}, ids: map[string]string{}, counts: map[string]int{}}
	s.t.Cleanup(g.client.CloseIdleConnections)
	a := g.request("POST", "/api/webhooks", fmt.Sprintf(`{"url":%q,"events":["*"],"secret":"0123456789abcdef0123456789abcdef"}`, g.receiver.URL))
	var made struct{ ID string }
	if err := json.Unmarshal(a.body, &made); err != nil || made.ID == "" {
		s.t.Fatalf("%v in %s", err, a)
	}
	g.hook = made.ID
	return g
}

func (g *golden) request(method, path, body string, header ...string) answer {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, text}
}

// shown are the headers of an answer that are compared.
var shown = []string{"Allow", "Cache-Control", "Content-Type", "Deprecation", "ETag", "Link", "Location", "Retry-After"}

// exchange runs a request and returns it with its answer as text.
func (g *golden) exchange(method, path, body string, header ...string) string {
	g.t.Helper()
	a := g.request(method, path, body, header...)
	var out strings.Builder
	fmt.Fprintf(&out, "> %s %s %s\n", method, path, strings.Join(header, " "))
	if body != "" {
		fmt.Fprintf(&out, "> %s\n", strings.ReplaceAll(body, "\n", "\n> "))
	}
	fmt.Fprintf(&out, "%d\n", a.status)
	for _, key := range shown {
		if v := a.header.Get(key); v != "" {
			if key == "ETag" { // of bytes with times in them
				v = "W/\"...\""
			}
			fmt.Fprintf(&out, "%s: %s\n", key, v)
		}
	}
	text := string(a.body)
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") && len(a.body) > 0 {
		text = indent(g.t, a.body)
	}
	out.WriteString(text + "\n")
	return g.steady(out.String())
}

// exchanges runs several GET requests.
func (g *golden) exchanges(paths ...string) string {
	g.t.Helper()
	var out strings.Builder
	for _, path := range paths {
		out.WriteString(g.exchange("GET", path, ""))
	}
	return out.String()
}

func (g *golden) patterns() string {
	g.t.Helper()
	var out strings.Builder
	put := func(text string) {
		out.WriteString(g.exchange("POST", "/api/patterns", text, "Content-Type", "application/x-yaml"))
	}
	put(fmt.Sprintf(single, "golden", "gold"))
	put(fmt.Sprintf(single, "golden", "gold"))
	put("name: broken\nversion: 1.0.0\nworkflow:\n  stepz: []\nextra: 1\n")
	put("name: [")
	put(fmt.Sprintf(vote, "voters", "gold"))
	out.WriteString(g.exchange("POST", "/api/patterns/validate", fmt.Sprintf(single, "other", "gold"), "Content-Type", "application/x-yaml"))
	out.WriteString(g.exchanges("/api/patterns", "/api/patterns/golden", "/api/patterns/golden/versions", "/api/patterns/none",
		"/api/patterns?limit=0", "/api/patterns?what=1"))
	return out.String()
}

// agents connects the agent that does the work, after some that may not, and answers its transcript until then. What it
// is sent and sends is recorded later too.
func (g *golden) agents() string {
	g.t.Helper()
	connect := func() *websocket.Conn {
		ws, resp, err := g.dialHeader(nil)
		if err != nil {
			g.t.Fatal(err)
		}
		_ = resp.Body.Close()
		g.t.Cleanup(func() { _ = ws.Close() })
		return ws
	}
	bad := connect()
	g.say(bad, `{"type":"register","id":"r0","payload":{"name":"","capabilities":[]}}`)
	g.hear(bad, protocol.TypeError)
	garbage := connect()
	g.say(garbage, `{"type":`)
	g.hear(garbage, protocol.TypeError)
	g.agent = connect()
	g.say(g.agent, `{"type":"register","id":"r1","payload":{"name":"worker","capabilities":["gold"],"region":"eu",`+
		`"metadata":{"model":"m","version":"1"},"config":{"maxConcurrentTasks":2}}}`)
	g.hear(g.agent, protocol.TypeRegistered)
	g.say(g.agent, `{"type":"heartbeat","id":"h1","payload":{"status":"healthy","activeTasks":0}}`)
	g.hear(g.agent, protocol.TypeHeartbeatAck)
	g.say(g.agent, `{"type":"nonsense","id":"n1","payload":{}}`)
	g.hear(g.agent, protocol.TypeError)
	g.say(g.agent, `{"type":"task_result","id":"t0","payload":{"taskId":"task_none","result":1}}`)
	g.hear(g.agent, protocol.TypeTaskAck)
	return g.steady(g.frames.String())
}

func (g *golden) say(ws *websocket.Conn, frame string) {
	g.t.Helper()
	fmt.Fprintf(&g.frames, "> %s\n", frame)
	if err := ws.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		g.t.Fatal(err)
	}
}

// hear records frames up to the first of that type, and returns its payload.
func (g *golden) hear(ws *websocket.Conn, kind protocol.Type) json.RawMessage {
	g.t.Helper()
	_ = ws.SetReadDeadline(time.Now().Add(patience))
	for {
		_, data, err := ws.ReadMessage()
		if err != nil {
			g.t.Fatalf("instead of %s: %v; so far\n%s", kind, err, g.frames.String())
		}
		fmt.Fprintf(&g.frames, "< %s\n", data)
		var e protocol.Envelope
		if err := json.Unmarshal(data, &e); err != nil {
			g.t.Fatal(err)
		}
		if e.Type == kind {
			return e.Payload
		}
	}
}

// work answers the next task.
func (g *golden) work(kind, rest string) {
	g.t.Helper()
	var task protocol.Task
	if err := json.Unmarshal(g.hear(g.agent, protocol.TypeTask), &task); err != nil {
		g.t.Fatal(err)
	}
	g.say(g.agent, fmt.Sprintf(`{"type":%q,"id":"w","payload":{"taskId":%q,"attempt":%d,%s}}`, kind, task.TaskID, task.Attempt, rest))
	g.hear(g.agent, protocol.TypeTaskAck)
}

// executions runs executions that complete, fail, are cancelled and refused, and a batch; the second text is the stream
// of the first of them.
func (g *golden) executions() (string, string) {
	g.t.Helper()
	var out strings.Builder
	begin := func(body string) string {
		a := g.request("POST", "/api/patterns/golden/execute?async=true", body)
		var started struct{ ExecutionID string }
		if err := json.Unmarshal(a.body, &started); err != nil || started.ExecutionID == "" {
			g.t.Fatalf("%v in %s", err, a)
		}
		return started.ExecutionID
	}
	ended := func(id, kind, rest string) {
		g.work(kind, rest)
		g.settled(id)
		out.WriteString(g.exchanges("/api/executions/"+id, "/api/executions/"+id+"/timeline"))
	}
	out.WriteString(g.exchange("POST", "/api/patterns/none/execute", `{"input":{}}`))
	out.WriteString(g.exchange("POST", "/api/patterns/golden/execute", `{"input":1,"prio":"high"}`))
	out.WriteString(g.exchange("POST", "/api/patterns/golden/execute", `{"input":{}`))
	first := begin(`{"input":{"text":"one"},"options":{"metadata":{"ticket":12345678901234567891}}}`)
	ended(first, "task_result", `"result":{"answer":"yes","confidence":0.5}`)
	ended(begin(`{"input":{"text":"two"},"options":{"priority":"high"}}`), "task_error", `"error":{"code":"BROKEN","message":"it broke"},"retryable":false`)
	third := begin(`{"input":{"text":"three"}}`)
	g.hear(g.agent, protocol.TypeTask)
	out.WriteString(g.exchange("POST", "/api/executions/"+third+"/cancel", `{"reason":"enough"}`))
	g.hear(g.agent, protocol.TypeTaskCancelled)
	g.settled(third)
	out.WriteString(g.exchange("POST", "/api/executions/"+third+"/cancel", `{}`))
	out.WriteString(g.exchange("POST", "/api/batch/execute", `{"pattern":"golden","inputs":[]}`))
	out.WriteString(g.exchanges("/api/executions", "/api/executions?status=failed&limit=1", "/api/executions?status=odd",
		"/api/executions/exec_none", "/api/executions/"+third))
	stream := g.request("GET", "/api/executions/"+first+"/stream", "")
	return out.String(), g.steady(string(stream.body))
}

// others are the remaining reads, on a server with little in it, and some refusals.
func (g *golden) others() string {
	g.t.Helper()
	out := g.exchanges("/api/agents", "/api/agents/none", "/api/managed-agents", "/api/managed-agents/none", "/api/managed-threads",
		"/api/questions", "/api/runtimes", "/api/workspaces", "/api/managed-threads/experiences", "/api/batch/none", "/api/nothing")
	out += g.exchange("DELETE", "/api/executions", "")
	out += g.exchange("POST", "/api/webhooks", `{"url":"ftp://x","events":["odd"]}`)
	out += g.exchange("POST", "/api/managed-agents", `{"type":"none"}`)
	out += g.exchange("POST", "/api/managed-threads", `{}`)
	return out
}

// log are the kinds of lines that the server wrote, each once: their order and number depend on the moment. What it found of
// servers that other tests killed is left out.
func (g *golden) log() string {
	values := regexp.MustCompile(`=("[^"]*"|\S+)`)
	var lines []string
	for _, line := range strings.Split(g.server.log.String(), "\n") {
		if _, text, ok := strings.Cut(line, " "); ok && !strings.Contains(text, "run directories of servers that are gone") {
			lines = append(lines, values.ReplaceAllString(text, "="))
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

// help is the help of every command.
func (g *golden) help() string {
	g.t.Helper()
	var out strings.Builder
	var visit func(args []string)
	visit = func(args []string) {
		text, err := exec.Command(binary, append(slices.Clone(args), "--help")...).CombinedOutput()
		if err != nil {
			g.t.Fatalf("%v --help: %v\n%s", args, err, text)
		}
		fmt.Fprintf(&out, "$ wardroom %s --help\n%s\n", strings.Join(args, " "), text)
		_, commands, ok := strings.Cut(string(text), "\nUsage:\n")
		commands, _, _ = strings.Cut(commands, "\nFlags:\n")
		if !ok || !strings.Contains(commands, "  "+strings.Join(append([]string{"wardroom"}, args...), " ")+" [command]") {
			return
		}
		_, commands, _ = strings.Cut(commands, "[command]")
		for _, line := range strings.Split(commands, "\n") {
			name := strings.Fields(line)
			if !strings.HasPrefix(line, "  ") || len(name) < 2 || slices.Contains(args, strings.TrimSuffix(name[0], ",")) || name[0] == "help" || name[0] == "completion" {
				continue
			}
			visit(append(slices.Clone(args), name[0]))
		}
	}
	visit(nil)
	return out.String()
}

// dump lists what lies in the store, without what differs from run to run.
func (g *golden) dump() string {
	g.t.Helper()
	path := filepath.Join(g.t.TempDir(), "dump")
	if out, err := exec.Command(binary, "store", "dump", path, "--data-dir", g.dir).CombinedOutput(); err != nil {
		g.t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		g.t.Fatal(err)
	}
	var out strings.Builder
	for data = data[16:]; ; {
		key, value := binary32(data), binary32(data[4:])
		if key == 0 {
			break
		}
		data = data[8:]
		// How many minutes and hours the throughput has goes by when the test ran.
		if !bytes.HasPrefix(data[:key], []byte("tp/")) {
			fmt.Fprintf(&out, "%s\n\t%s\n", printable(data[:key]), document(data[key:key+value]))
		}
		data = data[key+value:]
	}
	return g.steady(out.String())
}

func binary32(b []byte) int { return int(bigendian.BigEndian.Uint32(b)) }

// printable shows the texts in a record, and where bytes are that are none.
func printable(b []byte) string {
	runs := regexp.MustCompile(`[\x20-\x7e]{3,}`).FindAll(b, -1)
	return string(bytes.Join(runs, []byte(" ~ ")))
}

// document shows the JSON in a record, without the numbers before it.
func document(b []byte) string {
	if i := bytes.Index(b, []byte(`{"`)); i >= 0 {
		return printable(b[i:])
	}
	return ""
}

// compare compares text with a golden file, or writes it.
func (g *golden) compare(name, text string) {
	g.t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			g.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		g.t.Fatal(err)
	}
	if got, want := strings.Split(text, "\n"), strings.Split(string(want), "\n"); !slices.Equal(got, want) {
		i := 0
		for i < len(got) && i < len(want) && got[i] == want[i] {
			i++
		}
		g.t.Errorf("%s differs from line %d on; if that is meant, run this test with -update and look at the difference.\ngot:\n%s\nwant:\n%s",
			name, i+1, around(got, i), around(want, i))
	}
}

// around shows the lines about line i, cut.
func around(lines []string, i int) string {
	var out strings.Builder
	for _, line := range lines[min(len(lines), max(0, i-2)):min(len(lines), i+6)] {
		fmt.Fprintf(&out, "%.300s\n", line)
	}
	return out.String()
}

var (
	idPattern  = regexp.MustCompile(`\b([a-z]+)_[0-9A-HJKMNP-TV-Z]{26}`)
	replacedBy = []struct {
		pattern *regexp.Regexp
		text    string
	}{
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
		{regexp.MustCompile(`("(?:\w*(?:[dD]uration|Time|Ms|MS|[uU]ptime|Bytes|[lL]atency|Since|rss)\w*)": ?)[0-9.]+`), "$1<n>"},
		{regexp.MustCompile(`(?m)^retry: \d+$`), "retry: <n>"},
		{regexp.MustCompile(`,?\s*"\w+": ?<n>`), ""},                 // also because zero may be left out
		{regexp.MustCompile(`,?\s*"missingTypes": ?\[[^\]]*\]`), ""}, // what is installed on the machine
		{regexp.MustCompile(`("(?:resumeToken|sealed)":)"[^"]*"`), `$1"<token>"`},
		{regexp.MustCompile(`"(devel|v0\.0\.0-\d{14}-[0-9a-f]{12}(\+dirty)?)"`), `"<version>"`},
		{regexp.MustCompile(`(?m)^(info version: )".*"$`), `$1"<version>"`}, // of a product that make built
		{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<address>"},
		{regexp.MustCompile(`(?m)^(ix/xz/\w+ ~ )[0-9a-f]{16} `), "$1<time> "}, // when executions ended
		{regexp.MustCompile(`[0-9a-f]{40,64}`), "<hash>"},
	}
)

// steady replaces what differs from run to run.
func (g *golden) steady(text string) string {
	text = idPattern.ReplaceAllStringFunc(text, func(id string) string {
		if g.ids[id] == "" {
			kind, _, _ := strings.Cut(id, "_")
			g.counts[kind]++
			g.ids[id] = fmt.Sprintf("%s_%d", kind, g.counts[kind])
		}
		return g.ids[id]
	})
	for _, r := range replacedBy {
		text = r.pattern.ReplaceAllString(text, r.text)
	}
	return text
}

func indent(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return out.String()
}

// lines writes a JSON document with a line for each value that is so deep, and each one that is less deep and no object.
func lines(t *testing.T, path string, text json.RawMessage, depth int) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if depth == 0 || json.Unmarshal(text, &fields) != nil || len(fields) == 0 {
		var out bytes.Buffer
		if err := json.Compact(&out, text); err != nil {
			t.Fatal(err)
		}
		return path + ": " + out.String() + "\n"
	}
	var all strings.Builder
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		all.WriteString(lines(t, strings.TrimPrefix(path+" "+key, " "), fields[key], depth-1))
	}
	return all.String()
}

// hookReceiver takes deliveries and keeps them.
type hookReceiver struct {
	*httptest.Server
	mu  sync.Mutex // guards got
	got []string
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	h := &hookReceiver{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var out bytes.Buffer
		for _, key := range []string{"Content-Type", "X-Service-Event", "X-Service-Retry-Count"} {
			fmt.Fprintf(&out, "%s: %s\n", key, r.Header.Get(key))
		}
		if json.Indent(&out, body, "", "  ") != nil {
			out.Write(body) // no golden has it
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, out.String()+"\n")
	}))
	t.Cleanup(h.Close)
	return h
}

// deliveries are what came once n have, in the order of the events: endpoints are told in any.
func (h *hookReceiver) deliveries(t *testing.T, n int) []string {
	t.Helper()
	var got []string
	eventually(t, "all deliveries", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		got = slices.Clone(h.got)
		return len(got) >= n
	})
	slices.SortFunc(got, func(a, b string) int { return strings.Compare(eventID(a), eventID(b)) })
	return got
}

func eventID(delivery string) string {
	return regexp.MustCompile(`"id": "(evt_\w+)"`).FindString(delivery)
}
