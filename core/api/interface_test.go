package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/api/apitest"
)

// promised is an operation of the interface, with all that the interface says of it. Fields are given as paths of
// NAME:TYPE; a list has [] after its name, and ? marks what an answer may leave out: what is not known yet, or what
// the interface has for other patterns only.
type promised struct {
	op     string
	query  string // NAME:TYPE, with =DEFAULT and <MAXIMUM
	body   string
	media  string // of the answer; "": application/json
	status string // of successes
	answer string // of every success that has a body
}

const (
	page       = "total:number limit:number offset:number hasMore:boolean"
	pageParams = "limit:number=20<100 offset:number=0"

	executeFields = "input:object options.timeout:number options.priority:string options.metadata:object"
	agentFields   = "id:string name:string status:string capabilities[]:string region:string connectedAt:time lastHeartbeat:time " +
		"tasksCompleted:number metadata:object"
	managedFields = "id:string name:string type:string status:string runtime:string createdAt:time"
	spawnBody     = "executionId:string name:string agentType:string role:string objective:string metadata:object " +
		"preparation.workspace.repo:string preparation.workspace.branch:string preparation.approvalPreset:string preparation.env:object " +
		"policy.idleTimeoutMs:number policy.summarizeAfterTurns:number"
	threadFields = "id:string executionId:string name:string agentType:string role:string objective:string status:string " +
		"statusReason?:string runtime:string managedAgentId:string workspace:object preparation:object policy:object metadata:object " +
		"summary:string completion?:object turnCount:number eventCount:number createdAt:time updatedAt:time lastActivityAt:time"
	decisionFields = "id:string executionId:string threadId?:string category:string summary:string details?:any createdBy:string createdAt:time"
	webhookFields  = "id:string url:string events[]:string secret:string headers:object enabled:boolean retries:number timeout:number " +
		"filters:object createdAt:time"
	webhookBody = "url:string events[]:string secret:string headers:object enabled:boolean retries:number timeout:number " +
		"filters.pattern[]:string filters.metadata:object"
)

// interfaceOperations are the routes of the control plane that the interface lists, in its order. What it leaves open
// (statuses, answers that are not shown) is as it was settled since.
var interfaceOperations = []promised{
	{op: "GET /api/patterns", query: pageParams + " search:string", status: "200",
		answer: within("patterns[]", "name:string version:string description:string createdAt:time updatedAt:time") + " " + page},
	{op: "GET /api/patterns/{name}", query: "version:string", status: "200",
		answer: "name:string version:string description:string definition:any createdAt:time updatedAt:time createdBy:string"},
	{op: "POST /api/patterns", body: "name:string version:string description:string definition:string", status: "201",
		answer: "name:string version:string created:boolean"},
	{op: "PUT /api/patterns/{name}", body: "version:string description:string definition:string", status: "200 201",
		answer: "name:string version:string created:boolean"},
	{op: "DELETE /api/patterns/{name}", query: "version:string", status: "200", answer: "deleted:boolean versionsRemoved:number"},
	{op: "GET /api/patterns/{name}/versions", status: "200", answer: within("versions[]", "version:string createdAt:time")},

	{op: "POST /api/patterns/{name}/execute", query: "version:string async:boolean=false", body: executeFields, status: "200 202",
		answer: "executionId:string status:string"},
	{op: "POST /api/patterns/{name}/execute", status: "200", answer: "result?:any duration:number agents[].id:string agents[].result?:any " +
		"patternName?:string output?:any metrics?.durationMs:number metrics?.stepsExecuted:number metrics?.agentsUsed:number " +
		"steps?[].step:number steps?[].type:string steps?[].durationMs:number"},
	{op: "POST /api/patterns/{name}/execute", status: "202", answer: "statusUrl:string"},
	{op: "POST /api/patterns/{name}/execute/stream", body: executeFields, media: "text/event-stream", status: "200"},
	{op: "GET /api/executions/{executionId}", status: "200", answer: "id:string executionId:string pattern.name:string pattern.version:string " +
		"status:string input:any result?:any startedAt?:time completedAt?:time duration:number agents[].id:string agents[].result?:any"},
	{op: "GET /api/executions", query: pageParams + " pattern:string status:string since:time until:time", status: "200",
		answer: within("executions[]", "id:string executionId:string pattern:string status:string startedAt?:time duration:number") + " " + page},
	{op: "POST /api/executions/{executionId}/cancel", body: "reason:string", status: "200", answer: "executionId:string status:string cancelledAt:time"},
	{op: "POST /api/executions/{executionId}/retry", status: "202", answer: "originalExecutionId:string newExecutionId:string status:string"},
	{op: "GET /api/executions/{executionId}/stream", media: "text/event-stream", status: "200"},
	{op: "GET /api/executions/{executionId}/questions", status: "200", answer: within("questions[]", "id:string") + " " + page},
	{op: "POST /api/executions/{executionId}/questions/{questionId}/answer", body: "answer:any", status: "200", answer: "id:string"},

	{op: "GET /api/agents", query: "status:string capabilities:string region:string", status: "200",
		answer: within("agents[]", agentFields) + " total:number connected:number disconnected:number"},
	{op: "GET /api/agents/{agentId}", status: "200", answer: agentFields + " " + within("statistics",
		"tasksCompleted:number tasksSucceeded:number tasksFailed:number averageLatency:number uptime:number")},
	{op: "POST /api/agents/{agentId}/disconnect", status: "200", answer: "id:string disconnected:boolean disconnectedAt:time"},

	{op: "GET /api/health", query: "detailed:boolean=false", status: "200", answer: "status:string version:string uptime:number " +
		"components?.database:string components?.redis:string components?.agents.connected:number components?.agents.healthy:number " +
		"metrics?.executionsTotal:number metrics?.executionsActive:number metrics?.avgExecutionTime:number"},
	{op: "GET /api/health/ready", status: "200 503", answer: "status:string"},
	{op: "GET /api/health/live", status: "200 503", answer: "status:string"},
	{op: "GET /api/metrics", media: "text/plain", status: "200"},

	{op: "POST /api/batch/execute", body: "pattern:string inputs[]:object options.concurrency:number options.stopOnError:boolean", status: "202",
		answer: "id:string batchId:string status:string total:number completed:number failed:number cancelled:number statusUrl:string"},
	{op: "GET /api/batch/{batchId}", status: "200", answer: "id:string batchId:string status:string total:number completed:number failed:number " +
		"cancelled:number statusUrl:string " + within("results[]", "index:number executionId?:string status:string result?:any")},

	{op: "GET /api/managed-threads", query: pageParams + " status:string role:string agentType:string", status: "200",
		answer: within("threads[]", threadFields) + " " + page},
	{op: "POST /api/managed-threads", body: spawnBody, status: "201", answer: threadFields},
	{op: "POST /api/managed-threads/prepare", body: spawnBody + " provision:boolean", status: "200",
		answer: "executionId:string name:string objective:string role:string " +
			"preparation.workspace?.workspaceId:string preparation.workspace?.path:string preparation.workspace?.repo:string " +
			"preparation.workspace?.branch:string preparation.contextFiles[].path:string preparation.contextFiles[].content:string " +
			"preparation.approvalPreset:string metadata:any"},
	{op: "GET /api/managed-threads/{threadId}", status: "200", answer: threadFields},
	{op: "DELETE /api/managed-threads/{threadId}", query: "force:boolean=false timeout:number", status: "204"},
	{op: "POST /api/managed-threads/{threadId}/send", body: "message:string raw:string keys[]:string", status: "200", answer: "sent:boolean queued:number"},
	{op: "GET /api/managed-threads/{threadId}/events", query: "since:number=0 type:string limit:number", status: "200",
		answer: within("events[]", "id:string threadId:string executionId:string sequence:number type:string timestamp:time data:any")},
	{op: "GET /api/managed-threads/{threadId}/shared-decisions", query: "category:string limit:number=20<100", status: "200",
		answer: within("decisions[]", decisionFields) + " " + page},
	{op: "POST /api/managed-threads/{threadId}/shared-decisions", body: "category:string summary:string details:object", status: "201", answer: decisionFields},
	{op: "GET /api/managed-threads/executions/{executionId}", status: "200", answer: within("threads[]", threadFields) + " " + page},
	{op: "GET /api/managed-threads/executions/{executionId}/shared-decisions", query: "category:string limit:number=20<100", status: "200",
		answer: within("decisions[]", decisionFields) + " " + page},
	{op: "GET /api/managed-threads/experiences", query: "q:string repo:string role:string outcome:string executionId:string limit:number=20<100", status: "200",
		answer: within("experiences[]", "id:string executionId:string threadId?:string role:string repo:string objective:string summary:string "+
			"outcome:string details:any createdAt:time") + " " + page},
	{op: "GET /api/executions/{executionId}/threads/stream", query: "threadIds:string", media: "text/event-stream", status: "200"},

	{op: "POST /api/managed-agents", body: "name:string type:string capabilities[]:string workdir:string env:object runtime:string", status: "201",
		answer: managedFields},
	{op: "GET /api/managed-agents", query: pageParams + " status:string type:string runtime:string", status: "200",
		answer: within("agents[]", managedFields) + " " + page},
	{op: "GET /api/managed-agents/{agentId}", status: "200", answer: managedFields + " statusReason?:string capabilities[]:string workdir?:string " +
		"pid?:number containerId?:string podName?:string exitCode?:number lastActivityAt:time"},
	{op: "POST /api/managed-agents/{agentId}/send", body: "message:string expectResponse:boolean timeout:number", status: "200",
		answer: "sent:boolean response?.text?:string response?.turn:number response?.durationMs:number"},
	{op: "GET /api/managed-agents/{agentId}/logs", query: "tail:number since:time follow:boolean=false", status: "200",
		answer: within("logs[]", "timestamp:time stream:string line:string")},
	{op: "GET /api/managed-agents/{agentId}/metrics", status: "200", answer: "cpuPercent:number memoryBytes:number memoryLimitBytes:number " +
		"uptimeSeconds:number messagesSent:number lastResponseMs:number"},
	{op: "DELETE /api/managed-agents/{agentId}", status: "204"},

	{op: "POST /api/webhooks", body: webhookBody, status: "201", answer: webhookFields},
	{op: "GET /api/webhooks", query: pageParams, status: "200",
		answer: within("webhooks[]", "id:string url:string events[]:string enabled:boolean createdAt:time") + " " + page},
	{op: "GET /api/webhooks/{webhookId}", status: "200", answer: webhookFields + " " + within("statistics?",
		"deliveriesTotal:number deliveriesSucceeded:number deliveriesFailed:number averageLatency:number")},
	{op: "PATCH /api/webhooks/{webhookId}", body: webhookBody, status: "200", answer: webhookFields},
	{op: "DELETE /api/webhooks/{webhookId}", status: "204"},
	{op: "POST /api/webhooks/{webhookId}/test", body: "event:string", status: "200",
		answer: "deliveryId:string event:string status:string statusCode:number duration:number lastError?:string"},
	{op: "GET /api/webhooks/{webhookId}/deliveries", query: pageParams, status: "200", answer: within("deliveries[]",
		"id:string event:string status:string statusCode:number timestamp:time duration:number retries:number lastError?:string") + " " + page},
	{op: "POST /api/webhooks/{webhookId}/deliveries/{deliveryId}/retry", status: "202", answer: "deliveryId:string webhookId:string status:string"},

	// Lists that came later: a row has id beside what its noun is called.
	{op: "GET /api/batches", query: pageParams, status: "200", answer: within("batches[]", "id:string batchId:string") + " " + page},
	{op: "GET /api/workspaces", query: pageParams, status: "200", answer: within("workspaces[]", "id:string workspaceId:string") + " " + page},
	{op: "GET /api/workspaces/{workspaceId}", status: "200", answer: "id:string workspaceId:string"},
	{op: "GET /api/managed-threads/{threadId}/queue", status: "200", answer: within("inputs[]", "id:string inputId:string")},
	{op: "GET /api/audit", status: "200", answer: within("records[]", "timestamp:time eventId:string action:string outcome:string actor.type:string "+
		"actor.id:string actor.ip?:string actor.userAgent?:string resource.type:string resource.id?:string resource.version?:string details:any "+
		"request.method?:string request.path?:string request.requestId?:string")},
}

// within puts fields under a path.
func within(path, fields string) string {
	list := strings.Fields(fields)
	for i, f := range list {
		list[i] = path + "." + f
	}
	return strings.Join(list, " ")
}

// TestInterface: the document has every route, parameter and field of the interface, of the type that it has there.
func TestInterface(t *testing.T) {
	doc := apitest.Contract{Root: document(t, newRig(t))}
	lines := 0
	for _, p := range interfaceOperations {
		method, path, _ := strings.Cut(p.op, " ")
		op := doc.At(doc.Root, "paths", path, strings.ToLower(method))
		if op == nil {
			t.Errorf("%s is missing", p.op)
			continue
		}
		lines++
		for _, q := range strings.Fields(p.query) {
			lines++
			if err := doc.Parameter(op, q); err != nil {
				t.Errorf("%s: query %s: %v", p.op, q, err)
			}
		}
		for _, f := range strings.Fields(p.body) {
			lines++
			if err := doc.Field(doc.At(op, "requestBody", "content", "application/json", "schema"), f, false); err != nil {
				t.Errorf("%s: body: %s: %v", p.op, f, err)
			}
		}
		media := p.media
		if media == "" {
			media = "application/json"
		}
		for _, status := range strings.Fields(p.status) {
			lines++
			response := doc.At(op, "responses", status)
			if response == nil {
				t.Errorf("%s does not answer %s", p.op, status)
				continue
			}
			schema := doc.At(response, "content", media, "schema")
			if schema == nil && (p.answer != "" || p.media != "") {
				t.Errorf("%s %s has no answer of %s", p.op, status, media)
				continue
			}
			for _, f := range strings.Fields(p.answer) {
				lines++
				if err := doc.Field(schema, f, true); err != nil {
					t.Errorf("%s %s: %s: %v", p.op, status, f, err)
				}
			}
		}
	}
	if lines < 500 {
		t.Errorf("only %d lines of the interface were compared", lines)
	}
	t.Logf("%d lines of the interface were compared", lines)
}

// TestInterfaceYAML: a pattern may be stored as the YAML text itself.
func TestInterfaceYAML(t *testing.T) {
	doc := apitest.Contract{Root: document(t, newRig(t))}
	for _, path := range []string{"/api/patterns", "/api/patterns/{name}"} {
		method := "post"
		if strings.HasSuffix(path, "}") {
			method = "put"
		}
		if doc.At(doc.Root, "paths", path, method, "requestBody", "content", "application/x-yaml") == nil {
			t.Errorf("%s %s takes no YAML", method, path)
		}
	}
}

// TestInterfaceHeaders: the headers of limits, of retries and of authentication are declared where they are sent.
func TestInterfaceHeaders(t *testing.T) {
	doc := apitest.Contract{Root: document(t, newRig(t))}
	limits := []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
	op := doc.At(doc.Root, "paths", "/api/patterns", "post")
	for status, headers := range map[string][]string{
		"201": append([]string{"X-Request-Id", "X-Service-Version", "Location", "Idempotent-Replayed"}, limits...),
		"401": {"WWW-Authenticate"}, "429": append([]string{"Retry-After"}, limits...), "503": {"Retry-After"},
	} {
		for _, h := range headers {
			if doc.At(op, "responses", status, "headers", h, "schema") == nil {
				t.Errorf("%s does not declare %s", status, h)
			}
		}
	}
	if doc.At(doc.Root, "paths", "/api/health/live", "get", "responses", "200", "headers", "X-RateLimit-Limit") != nil {
		t.Error("a probe, which is not limited, declares the headers of limits")
	}
}

// TestInterfaceEnums: literals of the interface are those of the document.
func TestInterfaceEnums(t *testing.T) {
	doc := apitest.Contract{Root: document(t, newRig(t))}
	for place, want := range map[string]string{
		"ErrorDetail code":            "VALIDATION_ERROR UNAUTHORIZED FORBIDDEN NOT_FOUND TIMEOUT CONFLICT RATE_LIMITED INTERNAL_ERROR NO_AGENTS",
		"ExecutionBody status":        "pending running completed cancelled failed",
		"AgentRow status":             "connected disconnected",
		"BatchBody status":            "running completed",
		"ManagedAgentBody status":     "starting ready busy error stopped",
		"DeliveryBody status":         "succeeded failed",
		"OptionsBody priority":        "low normal high critical",
		"SpawnRequest approvalPreset": "readonly standard permissive autonomous",
	} {
		name, field, _ := strings.Cut(place, " ")
		schema := doc.At(doc.Root, "components", "schemas", name, "properties", field)
		var has []string
		list, _ := schema["enum"].([]any)
		for _, v := range list {
			has = append(has, fmt.Sprint(v))
		}
		for _, v := range strings.Fields(want) {
			if !slices.Contains(has, v) {
				t.Errorf("%s: %s is not one of %v", place, v, has)
			}
		}
	}
}
