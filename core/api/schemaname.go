package api

import (
	"reflect"

	"github.com/wardroom/wardroom/sdk/wire"
)

// schemaNames are the names of public types in the OpenAPI document that are not their names in Go. Clients were
// generated from the document: their types keep the names that they have.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[wire.Decision]():             "DecisionBody",
	reflect.TypeFor[wire.Experience]():           "ExperienceBody",
	reflect.TypeFor[wire.Question]():             "QuestionBody",
	reflect.TypeFor[wire.ThreadDiff]():           "ThreadDiffBody",
	reflect.TypeFor[wire.Workspace]():            "WorkspaceBody",
	reflect.TypeFor[wire.WorkspaceChanges]():     "WorkspaceChangesBody",
	reflect.TypeFor[wire.WorkspaceCommit]():      "WorkspaceCommitBody",
	reflect.TypeFor[wire.WorkspacePruneResult](): "PruneAnswer",
	reflect.TypeFor[wire.WorkspacePruned]():      "PrunedRow",
}
