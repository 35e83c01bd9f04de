package cmd_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	newest = "01M7WCB6683RVRC4FX9262KNYQ"
	middle = "01M7WCB6683RVRC4FX9262KNYP" // of the same millisecond
	oldest = "01M6WCB6683RVRC4FX9262KNYQ"
)

// named is a server with three managed agents, two connected ones, a thread, and executions; it notes what it is asked.
func named(t *testing.T) (url string, asked func() string) {
	t.Helper()
	var mu sync.Mutex
	var requests []string
	agent := func(id, name, status string) string {
		stopped := ""
		if status == "stopped" {
			stopped = `,"stoppedAt":"2026-01-02T03:04:05.000Z"`
		}
		return fmt.Sprintf(`{"id":"magent_%s","name":%q,"type":"codex","status":%q%s}`, id, name, status, stopped)
	}
	url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r.Method+" "+r.URL.Path)
		mu.Unlock()
		q := r.URL.Query()
		switch path := r.Method + " " + r.URL.Path; path {
		case "GET /api/managed-agents":
			if q.Get("cursor") == "" {
				say(w, 200, `{"agents":[`+agent(newest, "c1", "ready")+","+agent(middle, "two", "busy")+`],"total":4,"hasMore":true,"nextCursor":"n"}`)
				return
			}
			say(w, 200, `{"agents":[`+agent(oldest, "c1", "stopped")+","+agent("01M5WCB6683RVRC4FX9262KNYQ", "two", "ready")+`],"total":4}`)
		case "GET /api/agents":
			say(w, 200, `{"agents":[{"id":"agent_`+newest+`","name":"lexicon","status":"connected","healthy":true},{"id":"agent_`+middle+`","name":"two words","status":"connected","healthy":true}],"total":2}`)
		case "GET /api/executions":
			from, _ := time.Parse(time.RFC3339, q.Get("since"))
			until, _ := time.Parse(time.RFC3339, q.Get("until"))
			if until.IsZero() || until.Sub(from) > 24*time.Hour {
				// The newest of so many that the ones that are meant are not among those that are searched.
				say(w, 200, `{"executions":[{"executionId":"exec_01M9WCB6683RVRC4FX9262KNYQ"}],"total":9000,"hasMore":true,"nextCursor":"n"}`)
				return
			}
			say(w, 200, fmt.Sprintf(`{"executions":[{"executionId":"exec_%s","pattern":"p","status":"failed"},{"executionId":"exec_%s"}],"total":2}`, newest, middle))
		case "GET /api/runtimes":
			say(w, 200, `{"runtimes":[{"name":"local","ready":true,"types":["claude","codex"]},{"name":"far","types":["codex"]}]}`)
		case "GET /api/patterns":
			say(w, 200, `{"patterns":[{"name":"triage","version":"1.0.0","description":"Sort"},{"name":"vote","version":"2.0.0"}],"total":2}`)
		case "GET /api/webhooks/wh_1/deliveries":
			say(w, 200, `{"deliveries":[{"id":"dlv_`+newest+`","event":"execution.failed","status":"failed"}],"total":1}`)
		case "GET /api/managed-agents/magent_" + newest, "GET /api/managed-agents/magent_" + oldest:
			say(w, 200, agent(strings.TrimPrefix(r.URL.Path, "/api/managed-agents/magent_"), "c1", "ready"))
		case "GET /api/agents/agent_" + newest:
			say(w, 200, `{"id":"agent_`+newest+`","name":"lexicon"}`)
		case "GET /api/executions/exec_" + newest:
			say(w, 200, `{"executionId":"exec_`+newest+`","status":"completed"}`)
		default:
			missing(w, "managed agent", r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
		}
	})
	return url, func() string {
		mu.Lock()
		defer mu.Unlock()
		text := strings.Join(requests, "\n")
		requests = nil
		return text
	}
}

// TestNames addresses things by id, by the beginning of one, and by name.
func TestNames(t *testing.T) {
	url, asked := named(t)
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		id     string // that is shown
		stderr []string
		asks   int
	}{
		{"ID", []string{"agent", "get", "magent_" + newest}, 0, "magent_" + newest, nil, 1},
		{"Name", []string{"agent", "get", "lexicon"}, 0, "agent_" + newest, nil, 4},
		{"NameThatEndedToo", []string{"agent", "get", "c1"}, 0, "magent_" + newest, nil, 4},
		{"Prefix", []string{"agent", "get", "magent_01M6"}, 0, "magent_" + oldest, nil, 4},
		{"BareID", []string{"agent", "get", oldest}, 0, "magent_" + oldest, nil, 4},
		{"TwoOfAPrefix", []string{"agent", "get", "magent_01M7WCB6"}, 2, "", []string{
			`error: "magent_01M7WCB6" means several`, "  magent_" + newest + "  c1  codex  ready", "  magent_" + middle + "  two  codex  busy", "hint: name the one",
		}, 3},
		{"TwoOfTheKind", []string{"agent", "get", "magent_"}, 2, "", []string{`error: "magent_" means several`, "  magent_" + newest, "  magent_" + middle}, 3},
		{"TwoOfAName", []string{"agent", "stop", "two"}, 2, "", []string{`error: "two" means several`}, 2},
		{"None", []string{"agent", "stop", "three"}, 3, "", []string{`managed agent "three" does not exist`}, 3},
		{"ShapeOfAnID", []string{"agent", "stop", "magent_three"}, 3, "", []string{`managed agent "magent_three" does not exist`}, 1},
		{"OtherKind", []string{"agent", "disconnect", "c1"}, 3, "", []string{"does not exist"}, 2},
		{"OldExecution", []string{"execution", "get", "exec_" + newest[:25]}, 2, "", []string{"exec_" + middle, "exec_" + newest + "  p failed"}, 1},
		{"TooManyExecutions", []string{"execution", "get", "exec_00"}, 3, "", []string{"none of the newest 2000 of the executions"}, 20},
		{"NoNames", []string{"execution", "get", "mine"}, 3, "", nil, 1},
		{"Delivery", []string{"webhook", "retry", "wh_1", "dlv_01M7"}, 3, "", []string{`"retry" does not exist`}, 2},
		{"DeliveryOfNothing", []string{"webhook", "retry", "wh_2", "dlv_01M7"}, 3, "", []string{`"deliveries" does not exist`}, 1},
		{"Flag", []string{"thread", "list", "--execution", "exec_01M7WCB6"}, 2, "", []string{"means several"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked()
			r := execute(t, url, append(tt.args, "-o", "name")...)
			r.expect(t, tt.code, tt.stderr...)
			if got := strings.TrimSpace(r.stdout.String()); got != tt.id {
				t.Errorf("showed %q, want %q", got, tt.id)
			}
			if requests := asked(); strings.Count(requests, "\n")+1 != tt.asks {
				t.Errorf("asked %d times, want %d:\n%s", strings.Count(requests, "\n")+1, tt.asks, requests)
			}
		})
	}
}

// TestCompletion offers the words that go on at a place of the command line.
func TestCompletion(t *testing.T) {
	url, _ := named(t)
	for line, want := range map[string]string{
		"agent send |":                    "c1\tmagent_" + newest + " two\tmagent_" + middle,
		"agent send c|":                   "c1\tmagent_" + newest,
		"agent send magent_01M7WCB6683|":  "magent_" + newest + "\tc1  codex  ready magent_" + middle + "\ttwo  codex  busy",
		"agent disconnect |":              "lexicon\tagent_" + newest + " agent_" + middle + "\ttwo words  connected",
		"agent send c1 |":                 "",
		"agent answer c1 |":               "allow deny",
		"agent spawn |":                   "claude codex",
		"agent spawn cl|":                 "claude",
		"agent list --managed --status |": "connected disconnected",
		"agent list --runtime |":          "local\tready far\tnot ready",
		"pattern get |":                   "triage\t1.0.0  Sort vote\t2.0.0",
		"run v|":                          "vote\t2.0.0",
		"run triage --priority |":         "low normal high critical",
		"execution list --status |":       "pending running completed failed cancelled",
		"execution list --pattern t|":     "triage\t1.0.0  Sort",
		"thread spawn --type co|":         "codex",
		"thread spawn --approval |":       "readonly standard permissive autonomous",
		"thread events x --type |":        "started ready blocked tool_running turn_complete idle summary_updated output status input tool_done completed failed stopped",
		"webhook retry wh_1 |":            "dlv_" + newest + "\texecution.failed failed",
		"webhook deliveries x --status |": "pending succeeded failed cancelled",
		"status -o |":                     "table wide json yaml name jsonpath=",
		"plugin new runtime |":            "",
	} {
		before, _, _ := strings.Cut(line, "|")
		args := append([]string{"__complete"}, strings.Split(before, " ")...)
		r := execute(t, url, args...)
		r.expect(t, 0)
		lines := strings.Split(strings.TrimSpace(r.stdout.String()), "\n")
		if got := strings.Join(lines[:len(lines)-1], " "); got != want {
			t.Errorf("%s: %q, want %q (%s)", line, got, want, &r.stderr)
		}
	}
	// A server that is not there is no reason to disturb somebody who types.
	r := execute(t, "http://127.0.0.1:1", "__complete", "agent", "send", "")
	r.expect(t, 0)
	if got := strings.TrimSpace(r.stdout.String()); got != ":4" {
		t.Errorf("offered %q", got)
	}
}

// TestCredentialNames has keys and tokens named like everything else, but for a store that no server may run on.
func TestCredentialNames(t *testing.T) {
	asked := make(chan string, 10)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path
		switch r.Method + " " + r.URL.Path {
		case "GET /api/auth/keys":
			say(w, 200, `{"keys":[{"id":"key_`+newest+`","name":"ci","status":"active"}],"total":1}`)
		case "GET /api/auth/agent-tokens":
			say(w, 200, `{"tokens":[{"id":"atok_`+newest+`","status":"active"}],"total":1}`)
		case "DELETE /api/auth/keys/key_" + newest, "DELETE /api/auth/agent-tokens/atok_" + newest:
			w.WriteHeader(http.StatusNoContent)
		case "POST /api/auth/keys/key_" + newest + "/rotate":
			say(w, 200, `{"id":"key_`+newest+`","name":"ci","key":"wk_1"}`)
		default:
			resource := "key"
			if strings.Contains(r.URL.Path, "token") {
				resource = "agent token"
			}
			missing(w, resource, "none")
		}
	})
	for _, tt := range []struct {
		args []string
		code int
		want string // of stderr
	}{
		{[]string{"auth", "rotate-key", "ci"}, 0, ""},
		{[]string{"auth", "revoke-key", "key_01M7W"}, 0, ""},
		{[]string{"agent", "revoke-token", "atok_01M7W"}, 0, ""},
		{[]string{"auth", "rotate-key", "nosuch"}, 3, "wardroom auth list-keys"},
		{[]string{"agent", "revoke-token", "nosuch"}, 3, "wardroom agent list-tokens"},
	} {
		execute(t, url, tt.args...).expect(t, tt.code, tt.want)
	}
	for len(asked) > 0 {
		<-asked
	}
	execute(t, url, "auth", "revoke-key", "ci", "--config", "none.yaml").expect(t, 3)
	if len(asked) > 0 {
		t.Errorf("the server was asked %s about a store", <-asked)
	}
}

func TestHints(t *testing.T) {
	for details, want := range map[string]string{
		`{"resource":"pattern","id":"triage@1.0.0"}`:                            "replace a version",
		`{"resource":"pattern","id":"startup-team@1.0.0","status":"read-only"}`: "wardroom pattern get startup-team -o jsonpath=.definition > FILE",
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, 409, "CONFLICT", "no", details) })
		execute(t, url, "pattern", "delete", "triage").expect(t, 4, want)
	}
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, 422, "VALIDATION_ERROR", "no", `{"field":"target.execution.pattern","reason":"there is no pattern report"}`)
	})
	execute(t, url, "schedule", "create", "--name", "s", "--cron", "@daily", "--pattern", "report").expect(t, 2, "wardroom pattern list")
}
