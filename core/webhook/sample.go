package webhook

import (
	"maps"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// sample makes the data of a test event: the fields of its type with made-up values, and test.
func sample(kind core.EventType, now time.Time) map[string]any {
	data := map[string]any{"test": true}
	at := now.UTC().Format(wire.TimeLayout)
	with := func(fields map[string]any) map[string]any {
		maps.Copy(data, fields)
		return data
	}
	pattern := map[string]any{"name": "sample-pattern", "version": "1.0.0"}
	execution := core.IDBound(core.PrefixExecution, now)
	agent := core.IDBound(core.PrefixAgent, now)
	result := map[string]any{"answer": "sample"}
	switch kind {
	case core.EventExecutionStarted:
		return with(map[string]any{
			"executionId": execution, "pattern": pattern, "input": map[string]any{"text": "sample"}, "metadata": map[string]any{},
		})
	case core.EventExecutionCompleted:
		return with(map[string]any{
			"executionId": execution, "pattern": pattern, "result": result, "duration": 1200,
			"agents": []any{map[string]any{"id": agent, "result": result}},
		})
	case core.EventExecutionFailed:
		return with(map[string]any{
			"executionId": execution, "pattern": pattern, "duration": 1200,
			"error":  map[string]any{"code": core.CodeTimeout, "message": "a made-up failure"},
			"agents": []any{map[string]any{"id": agent, "status": "timeout"}},
		})
	case core.EventExecutionCancelled:
		return with(map[string]any{"executionId": execution, "pattern": pattern, "reason": "a test", "duration": 1200})
	case core.EventExecutionDeleted:
		return with(map[string]any{"executionId": execution, "pattern": pattern, "status": core.ExecutionCompleted, "deletedBy": "test"})
	case core.EventAgentConnected:
		return with(map[string]any{
			"agentId": agent, "name": "sample-agent", "capabilities": []string{"sample"}, "region": "", "metadata": map[string]any{},
		})
	case core.EventAgentDisconnected:
		return with(map[string]any{
			"agentId": agent, "name": "sample-agent", "reason": "a test", "graceful": true, "connectedDuration": 60000,
		})
	case core.EventAgentUnhealthy:
		return with(map[string]any{"agentId": agent, "reason": "a test", "lastHeartbeat": at})
	case core.EventPatternCreated:
		return with(map[string]any{"name": "sample-pattern", "version": "1.0.0", "createdBy": "test"})
	case core.EventPatternUpdated:
		return with(map[string]any{"name": "sample-pattern", "version": "1.1.0", "previousVersion": "1.0.0", "updatedBy": "test"})
	case core.EventPatternDeleted:
		return with(map[string]any{"name": "sample-pattern", "deletedBy": "test"})
	case core.EventSystemAlert:
		return with(map[string]any{"severity": "info", "message": "This is a test.", "details": map[string]any{}})
	}
	return sampleAgent(kind, now, with)
}

// sampleAgent is sample for the events of threads and managed agents.
func sampleAgent(kind core.EventType, now time.Time, with func(map[string]any) map[string]any) map[string]any {
	thread := map[string]any{
		"threadId": core.IDBound(core.PrefixThread, now), "executionId": core.IDBound(core.PrefixExecution, now), "name": "sample-thread",
		"role": "sample", "agentType": "claude", "managedAgentId": core.IDBound(core.PrefixManaged, now),
	}
	agent := map[string]any{"agentId": core.IDBound(core.PrefixManaged, now), "name": "sample-agent", "type": "claude", "status": "busy"}
	prompt := map[string]any{
		"id": "prompt_sample", "kind": "approval", "text": "May a test run?", "tool": "Bash",
		"options": []any{map[string]any{"id": "allow", "label": "Yes"}, map[string]any{"id": "deny", "label": "No"}},
	}
	put := func(to map[string]any, fields map[string]any) map[string]any {
		maps.Copy(to, fields)
		return with(to)
	}
	switch kind {
	case core.EventPublicThreadBlocked:
		return put(thread, map[string]any{"reason": "approval", "prompt": prompt})
	case core.EventPublicThreadCompleted:
		return put(thread, map[string]any{"state": "complete", "summary": "This is a test.", "duration": 60000})
	case core.EventPublicThreadFailed:
		failure := map[string]any{"code": core.CodeAgentError, "message": "a made-up failure"}
		return put(thread, map[string]any{"state": "failed", "reason": "crashed", "summary": "This is a test.", "error": failure, "duration": 60000})
	case core.EventManagedBlocked:
		return put(agent, map[string]any{"reason": "approval", "prompt": prompt})
	case core.EventManagedLogin:
		return put(agent, map[string]any{"reason": "login_required", "loginUrl": "https://login.example.com"})
	case core.EventManagedFailed:
		return put(agent, map[string]any{"status": "error", "reason": "exited", "exitCode": 1})
	}
	return with(nil)
}
