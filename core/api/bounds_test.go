package api_test

import (
	"slices"
	"strings"
	"testing"
)

// unpaged says of every read that has no limit why its answer is bounded all the same.
var unpaged = map[string]string{
	"/api/agents/{agentId}/tasks":                          "what the agent works on, and 20 tasks",
	"/api/admin/plugins":                                   "the plugins of the configuration",
	"/api/admin/plugins/{name}":                            "one plugin",
	"/api/agents/connect":                                  "a socket, bounded by frames",
	"/api/agents/{agentId}":                                "one agent",
	"/api/events":                                          "a stream, bounded by frames",
	"/api/compliance/{profile}":                            "one report, a row a control",
	"/api/data/erasures/{erasureId}":                       "one erasure",
	"/api/executions/{executionId}":                        "one record, which the store bounds",
	"/api/executions/{executionId}/questions/{questionId}": "one question",
	"/api/executions/{executionId}/steps/{path}":           "one step: its result, its last 100 runs, and its last 100 tasks with 1 MiB of what they were asked and answered",
	"/api/executions/{executionId}/stream":                 "a stream, bounded by frames",
	"/api/executions/{executionId}/threads/stream":         "a stream, bounded by frames",
	"/api/executions/{executionId}/timeline":               "steps, tasks and messages of one execution, whose workflow and rounds are bounded, without their values",
	"/api/auth/agent-tokens/{tokenId}":                     "one token",
	"/api/audit/export":                                    "a stream, page by page as it is read",
	"/api/admin/secrets/providers":                         "a row a provider of the configuration",
	"/api/audit/status":                                    "figures, and one row a sink",
	"/api/executions/{executionId}/tasks/{taskId}":         "one task, whose attempts are bounded by retries, with what was asked up to 64 KiB",
	"/api/ids/{id}":                                        "one place",
	"/api/managed-threads/experiences/{experienceId}":      "one record",
	"/api/overview":                                        "a number a minute of a day and an hour of a month",
	"/api/webhooks/{webhookId}/deliveries/{deliveryId}":    "one delivery with its event and 16 attempts",
	"/api/auth/can":                                        "one answer",
	"/api/auth/keys/{keyId}":                               "one key",
	"/api/auth/methods":                                    "the ways to sign in",
	"/auth/callback":                                       "a page",
	"/auth/cli":                                            "a page",
	"/auth/login":                                          "a redirect",
	"/auth/logout":                                         "a page",
	"/api/health":                                          "checks and totals",
	"/api/health/live":                                     "one word",
	"/api/health/ready":                                    "one word",
	"/api/managed-agents/{agentId}":                        "one agent",
	"/api/managed-agents/{agentId}/metrics":                "figures of one agent",
	"/api/managed-agents/{agentId}/screen":                 "one screen, of 1000 columns and rows at most",
	"/api/managed-agents/screens":                          "as many screens as were asked for, of which there is a maximum",
	"/api/managed-threads/{threadId}":                      "one record",
	"/api/metrics":                                         "series, whose labels are bounded",
	"/api/openapi.json":                                    "the document",
	"/api/patterns/{name}":                                 "one definition, bounded by server.maxDefinition",
	"/api/patterns/{name}/drawing":                         "of one definition, bounded by server.maxDefinition and by the steps that are drawn",
	"/api/questions/{questionId}":                          "one question",
	"/api/executions/histogram":                            "as many counts as steps has, of which there is a maximum",
	"/api/schemas/pattern":                                 "the document",
	"/api/schedules/{scheduleId}":                          "one schedule, with a history that is bounded",
	"/api/session":                                         "who calls, with the actions that there are",
	"/api/runtimes":                                        "the runtimes of the configuration",
	"/api/triggers/{triggerId}":                            "one trigger, with a history that is bounded",
	"/api/webhooks/{webhookId}":                            "one endpoint",
	"/api/workspaces/usage":                                "sums",
	"/api/workspaces/{workspaceId}":                        "one workspace",
}

// bounds are the parameters that bound an answer.
var bounds = []string{"limit", "tail", "maxBytes"}

// Every answer to a read is bounded: by a parameter with a default and a maximum, or by what it is about.
func TestReadsAreBounded(t *testing.T) {
	r := newRig(t)
	// What a runtime keeps of the output of an agent is bounded by itself, and lines are sent as they are read.
	kept := []string{"/api/managed-agents/{agentId}/logs", "/api/managed-agents/{agentId}/terminal"}
	seen := 0
	for path, item := range document(t, r)["paths"].(map[string]any) {
		op, ok := item.(map[string]any)["get"].(map[string]any)
		if !ok {
			continue
		}
		bounded := false
		params, _ := op["parameters"].([]any)
		for _, p := range params {
			p := p.(map[string]any)
			if !slices.Contains(bounds, p["name"].(string)) || p["in"] != "query" {
				continue
			}
			schema := p["schema"].(map[string]any)
			if schema["maximum"] == nil || schema["default"] == nil && !slices.Contains(kept, path) {
				t.Errorf("GET %s: %s has the default %v and the maximum %v", path, p["name"], schema["default"], schema["maximum"])
			}
			bounded = true
		}
		why := unpaged[path]
		switch {
		case bounded == (why != ""):
			t.Errorf("GET %s: has a bound: %v; the reason for none: %q", path, bounded, why)
		case why != "":
			seen++
		}
		// What answers with a list of its own has a limit, whatever is said of it.
		if strings.HasSuffix(path, "s") && !bounded && why == "" {
			t.Errorf("GET %s is a list without a limit", path)
		}
	}
	if seen != len(unpaged) {
		t.Errorf("%d of %d reads without a limit are there", seen, len(unpaged))
	}
}
