package webhook

import (
	"time"

	"github.com/wardroom/wardroom/core"
)

// sample makes the data of a test event: the fields of its type with made-up values, and test.
func sample(kind core.EventType, now time.Time) map[string]any {
	data := map[string]any{"test": true}
	at := now.UTC().Format(timeLayout)
	with := func(fields map[string]any) map[string]any {
		for name, value := range fields {
			data[name] = value
		}
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
	return data
}
