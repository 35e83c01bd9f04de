package pattern_test

import (
	"os"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// TestDocumentedDefinitions: what the reference shows is accepted, and every key and variable is explained.
func TestDocumentedDefinitions(t *testing.T) {
	raw, err := os.ReadFile("../../docs/patterns.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	blocks := strings.Split(text, "```yaml\n")[1:]
	if len(blocks) < 3 {
		t.Fatalf("%d definitions", len(blocks))
	}
	for _, block := range blocks {
		source, _, ok := strings.Cut(block, "```")
		if !ok {
			t.Fatal("a block does not end")
		}
		mustParse(t, source)
	}
	words := []string{
		"name", "version", "description", "input", "agents", "aggregation", "output", "execution", "validation",
		"config", "security", "steps", "capabilities", "min", "max", "taskTimeout", "prefer", "strategy", "method",
		"field", "fields", "threshold", "minVotes", "weights", "waitForAll", "minResults", "timeout", "maxConcurrent",
		"minConfidence", "onFailure", "maxRetries", "fallback", "allowedUsers", "allowedRoles", "properties", "items",
		"$vote", "$consensus", "$merged", "$first", "$best", "$results", "$input",
		"structure", "workflow", "roles", "routing", "escalation", "id", "reportsTo", "agentType", "managed", "singleton",
		"minInstances", "maxInstances", "approvalPreset", "runtime", "workspace", "repo", "branch", "depth", "filter", "submodules", "from", "to", "topics", "messageTypes", "defaultBehavior",
		"topicRoutes", "timeoutMs", "maxDepth", "onMaxDepth", "type", "task", "role", "reviewer", "approver", "subject", "onReject",
		"check", "then", "else", "voting", "majority", "plurality", "unanimous", "weighted", "consensus", "merge", "deep", "shallow", "concat", "union",
	}
	for _, kind := range core.StepKinds {
		words = append(words, string(kind))
	}
	for _, behavior := range core.Behaviors {
		words = append(words, string(behavior))
	}
	for _, method := range core.Methods {
		words = append(words, string(method))
	}
	for name := range shipped(t) {
		words = append(words, name)
	}
	for _, word := range words {
		if !strings.Contains(text, "`"+word+"`") && !strings.Contains(text, "### "+word) {
			t.Errorf("%s is not explained", word)
		}
	}
}
