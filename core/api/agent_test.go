package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

func TestListAgents(t *testing.T) {
	r := newRig(t)
	var got core.AgentFilter
	r.agents.findAll = func(f core.AgentFilter) ([]*core.Agent, core.PageInfo, core.AgentCounts, error) {
		got = f
		return []*core.Agent{someAgent("agent_1")}, core.PageInfo{Total: 5, HasMore: true},
			core.AgentCounts{Connected: 4, Disconnected: 1}, nil
	}
	p := r.do("GET", "/api/agents?status=connected&capabilities=a,%20b,,c&region=eu&limit=1", "")
	p.wants(t, 200, "")
	want := core.AgentFilter{
		Status: core.AgentConnected, Capabilities: []string{"a", "b", "c"}, Region: "eu", Page: core.Page{Limit: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("filter %+v, want %+v", got, want)
	}
	if p.at("total") != 5.0 || p.at("connected") != 4.0 || p.at("disconnected") != 1.0 || p.at("hasMore") != true {
		t.Errorf("body %s", p.text)
	}
	a := p.at("agents").([]any)[0].(map[string]any)
	if a["id"] != "agent_1" || a["tasksCompleted"] != 4.0 || a["healthy"] != true || a["statistics"] != nil {
		t.Errorf("agent %v", a)
	}
	r.do("GET", "/api/agents?status=gone", "").wants(t, 400, core.CodeValidation)
}

func TestGetAgent(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/agents/agent_1", "")
	p.wants(t, 200, "")
	want := map[string]any{
		"tasksCompleted": 4.0, "tasksSucceeded": 3.0, "tasksFailed": 1.0, "averageLatency": 2.5, "uptime": 59.0,
	}
	if got := p.at("statistics"); !reflect.DeepEqual(got, want) {
		t.Errorf("statistics %v, want %v", got, want)
	}
	r.agents.find = func(id string) (*core.Agent, error) { return nil, core.NotFound("agent", id) }
	r.do("GET", "/api/agents/x", "").wants(t, 404, core.CodeNotFound)
}

func TestDisconnectAgent(t *testing.T) {
	r := newRig(t)
	var why string
	r.agents.disconnect = func(id, reason string) (*core.Agent, error) {
		why = reason
		a := someAgent(id)
		a.DisconnectedAt = &epoch
		return a, nil
	}
	p := r.do("POST", "/api/agents/agent_1/disconnect", `{"reason":"upgrade"}`)
	p.wants(t, 200, "")
	if want := `{"id":"agent_1","disconnected":true,"disconnectedAt":"2026-01-02T03:04:05.678Z"}`; p.text != want || why != "upgrade" {
		t.Errorf("body %s, reason %q", p.text, why)
	}
}

// The socket's handler must be able to take the connection over, and finds the principal in its context.
func TestConnectAgent(t *testing.T) {
	principal := make(chan core.Principal, 1)
	r := newRig(t, func(o *api.Options) {
		o.AgentSocket = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			principal <- core.PrincipalFrom(req.Context())
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Errorf("hijack: %v", err)
				return
			}
			defer conn.Close()
			fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello\n")
			rw.Flush()
		})
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.http.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /api/agents/connect HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	lines := bufio.NewScanner(conn)
	var last string
	for lines.Scan() {
		last = lines.Text()
	}
	if last != "hello" {
		t.Errorf("the last line is %q", last)
	}
	if p := <-principal; p.ID != core.Anonymous.ID {
		t.Errorf("principal %+v", p)
	}
}

// The tasks of an agent are those of executions that the caller may read.
func TestListAgentTasks(t *testing.T) {
	r := newRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if a.ID == "exec_hidden" {
				return core.Conflict("execution", a.ID, "hidden", "not yours")
			}
			return nil
		}
	})
	p := r.do("GET", "/api/agents/agent_1/tasks", "")
	p.wants(t, 200, "")
	if tasks := p.at("tasks").([]any); len(tasks) != 1 || tasks[0].(map[string]any)["executionId"] != "exec_1" {
		t.Errorf("body %s", p.text)
	}
	r.agents.find = func(id string) (*core.Agent, error) { return nil, core.NotFound("agent", id) }
	r.do("GET", "/api/agents/x/tasks", "").wants(t, 404, core.CodeNotFound)
}
