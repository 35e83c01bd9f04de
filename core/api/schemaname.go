package api

import (
	"reflect"

	"github.com/wardroom/wardroom/sdk/wire"
)

// schemaNames are the names of public types in the OpenAPI document that are not their names in Go. Clients were
// generated from the document: their types keep the names that they have.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[wire.Agent]():                 "AgentRow",
	reflect.TypeFor[wire.AgentDisconnection]():    "AgentDisconnected",
	reflect.TypeFor[wire.Health]():                "HealthBody",
	reflect.TypeFor[wire.PatternCheck]():          "Validation",
	reflect.TypeFor[wire.PatternDeletion]():       "PatternDeleted",
	reflect.TypeFor[wire.PatternInput]():          "PatternRequest",
	reflect.TypeFor[wire.Plugin]():                "PluginBody",
	reflect.TypeFor[wire.PluginLogLine]():         "PluginLogRow",
	reflect.TypeFor[wire.Probe]():                 "ProbeBody",
	reflect.TypeFor[wire.Batch]():                 "BatchBody",
	reflect.TypeFor[wire.ExecuteOptions]():        "OptionsBody",
	reflect.TypeFor[wire.Execution]():             "ExecutionBody",
	reflect.TypeFor[wire.ExecutionCancellation](): "ExecutionCancelled",
	reflect.TypeFor[wire.ExecutionOutcome]():      "Outcome",
	reflect.TypeFor[wire.WorkflowMetrics]():       "ChartMetrics",
	reflect.TypeFor[wire.WorkflowStep]():          "ChartStep",
	reflect.TypeFor[wire.Decision]():              "DecisionBody",
	reflect.TypeFor[wire.Delivery]():              "DeliveryBody",
	reflect.TypeFor[wire.DeliveryRetry]():         "DeliveryRetried",
	reflect.TypeFor[wire.Webhook]():               "WebhookBody",
	reflect.TypeFor[wire.WebhookFilters]():        "WebhookFiltersBody",
	reflect.TypeFor[wire.WebhookStatistics]():     "WebhookStatisticsBody",
	reflect.TypeFor[wire.WebhookTest]():           "WebhookTestBody",
	reflect.TypeFor[wire.Experience]():            "ExperienceBody",
	reflect.TypeFor[wire.Event]():                 "EventRow",
	reflect.TypeFor[wire.ManagedAgentEvent]():     "ManagedEventRow",
	reflect.TypeFor[wire.ThreadEvent]():           "ThreadEventRow",
	reflect.TypeFor[wire.NewContextFile]():        "ContextFileRequest",
	reflect.TypeFor[wire.Thread]():                "ThreadBody",
	reflect.TypeFor[wire.ThreadError]():           "ThreadErrorBody",
	reflect.TypeFor[wire.ThreadFile]():            "ThreadFileBody",
	reflect.TypeFor[wire.ThreadPlan]():            "ThreadPlanBody",
	reflect.TypeFor[wire.ThreadPreparation]():     "ThreadPreparationRequest",
	reflect.TypeFor[wire.ThreadSetup]():           "ThreadPreparationBody",
	reflect.TypeFor[wire.ThreadQueue]():           "ThreadQueueBody",
	reflect.TypeFor[wire.Completion]():            "CompletionBody",
	reflect.TypeFor[wire.Artifact]():              "ArtifactBody",
	reflect.TypeFor[wire.ManagedAgent]():          "ManagedAgentBody",
	reflect.TypeFor[wire.LogLine]():               "LogRow",
	reflect.TypeFor[wire.Question]():              "QuestionBody",
	reflect.TypeFor[wire.ThreadDiff]():            "ThreadDiffBody",
	reflect.TypeFor[wire.WorkspaceRow]():          "WorkspaceBody",
	reflect.TypeFor[wire.WorkspaceChanges]():      "WorkspaceChangesBody",
	reflect.TypeFor[wire.WorkspaceCommit]():       "WorkspaceCommitBody",
	reflect.TypeFor[wire.WorkspacePruneResult]():  "PruneAnswer",
	reflect.TypeFor[wire.WorkspacePruned]():       "PrunedRow",
	reflect.TypeFor[wire.NewDecision]():           "AddDecisionRequest",
	reflect.TypeFor[wire.WorkspacePrune]():        "PruneWorkspacesRequest",
	reflect.TypeFor[wire.ThreadInput]():           "SendThreadRequest",
	reflect.TypeFor[wire.ThreadAnswer]():          "AnswerThreadRequest",
	reflect.TypeFor[wire.ThreadClose]():           "CompleteThreadRequest",
	reflect.TypeFor[wire.ThreadContinue]():        "ContinueThreadRequest",
	reflect.TypeFor[wire.ManagedAgentSpec]():      "SpawnRequest",
	reflect.TypeFor[wire.ManagedAgentInput]():     "SendRequest",
	reflect.TypeFor[wire.ManagedAgentAnswer]():    "AnswerRequest",
	reflect.TypeFor[wire.WebhookSpec]():           "CreateWebhookRequest",
}

// requestNames are the names of public types in requests, where they differ from those in answers.
var requestNames = map[reflect.Type]string{
	reflect.TypeFor[wire.AutoAnswerRule](): "AutoAnswerRequest",
	reflect.TypeFor[wire.ExecuteOptions](): "ExecuteOptions",
	reflect.TypeFor[wire.ThreadFinish]():   "ThreadFinishRequest",
	reflect.TypeFor[wire.ThreadPolicy]():   "ThreadPolicyRequest",
	reflect.TypeFor[wire.WorkspaceSpec]():  "WorkspaceRequest",
}
