package storetest

import (
	"testing"

	"github.com/wardroom/wardroom/core/store"
)

// Opener opens a store with the options that a test is about, and closes it at the end of the test. Opened anew with a Path, it
// has what was stored under that Path before. The files of a store are its own matter: no test looks for any.
type Opener func(tb testing.TB, opts store.Options) *store.Store

// Run goes over everything that a store promises.
func Run(t *testing.T, open Opener) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open Opener)
	}{
		{"APIKey", testAPIKey},
		{"APIKeyListsEqualModel", testAPIKeyListsEqualModel},
		{"Decision", testDecision},
		{"DecisionInvalid", testDecisionInvalid},
		{"DecisionListsEqualModel", testDecisionListsEqualModel},
		{"DecisionRolledBack", testDecisionRolledBack},
		{"Experience", testExperience},
		{"ExperienceInvalid", testExperienceInvalid},
		{"ExperienceListsEqualModel", testExperienceListsEqualModel},
		{"WalkExperiences", testWalkExperiences},
		{"Execution", testExecution},
		{"ExecutionInvalid", testExecutionInvalid},
		{"ExecutionPutAgain", testExecutionPutAgain},
		{"ExecutionsSurviveReopen", testExecutionsSurviveReopen},
		{"Group", testGroup},
		{"GroupConcurrent", testGroupConcurrent},
		{"LastSeq", testLastSeq},
		{"Input", testInput},
		{"ForgetManyInputs", testForgetManyInputs},
		{"InputInvalid", testInputInvalid},
		{"InputsOfOneTransaction", testInputsOfOneTransaction},
		{"InputsEqualModel", testInputsEqualModel},
		{"ListsEqualModel", testListsEqualModel},
		{"ListErrors", testListErrors},
		{"CursorIsStable", testCursorIsStable},
		{"CursorsOfOtherLists", testCursorsOfOtherLists},
		{"ManagedAgent", testManagedAgent},
		{"NeededEventsStay", testNeededEventsStay},
		{"ClosureThatOverflowsTheBatch", testClosureThatOverflowsTheBatch},
		{"Question", testQuestion},
		{"QuestionInvalid", testQuestionInvalid},
		{"QuestionListsEqualModel", testQuestionListsEqualModel},
		{"RetainQuestions", testRetainQuestions},
		{"QuestionsInDump", testQuestionsInDump},
		{"Pattern", testPattern},
		{"Definition", testDefinition},
		{"Batch", testBatch},
		{"BatchLargeResults", testBatchLargeResults},
		{"Agent", testAgent},
		{"Idempotency", testIdempotency},
		{"Events", testEvents},
		{"EventPagesEndByBytes", testEventPagesEndByBytes},
		{"SequenceGoesOnAfterReopen", testSequenceGoesOnAfterReopen},
		{"Cursor", testCursor},
		{"RetainEverything", testRetainEverything},
		{"RetainKeeps", testRetainKeeps},
		{"RetainLongJournal", testRetainLongJournal},
		{"RetainDefinitions", testRetainDefinitions},
		{"RetainIdempotency", testRetainIdempotency},
		{"RunMaintenance", testRunMaintenance},
		{"PatternNamedLikeAnExecution", testPatternNamedLikeAnExecution},
		{"RetainDeliveries", testRetainDeliveries},
		{"RetainManyDeliveries", testRetainManyDeliveries},
		{"PurgeDeliveries", testPurgeDeliveries},
		{"MaintenancePurges", testMaintenancePurges},
		{"RetainNeededEvents", testRetainNeededEvents},
		{"RetainJournals", testRetainJournals},
		{"RetainInputs", testRetainInputs},
		{"RetainEventsOfTheFuture", testRetainEventsOfTheFuture},
		{"RetainIDsOfTheFuture", testRetainIDsOfTheFuture},
		{"RetainThreads", testRetainThreads},
		{"RetainActiveThread", testRetainActiveThread},
		{"RetainThreadRace", testRetainThreadRace},
		{"ThreadsInDump", testThreadsInDump},
		{"Thread", testThread},
		{"ThreadPutIsSmall", testThreadPutIsSmall},
		{"ThreadInvalid", testThreadInvalid},
		{"ThreadListsEqualModel", testThreadListsEqualModel},
		{"CountActiveThreads", testCountActiveThreads},
		{"ThreadCursor", testThreadCursor},
		{"TxFindExecution", testTxFindExecution},
		{"Webhook", testWebhook},
		{"CursorInTransaction", testCursorInTransaction},
		{"FindEvent", testFindEvent},
		{"Workspace", testWorkspace},
		{"WorkspaceListsEqualModel", testWorkspaceListsEqualModel},
		{"Delivery", testDelivery},
		{"PutDeliveryRefuses", testPutDeliveryRefuses},
		{"DeliveriesAgainstModel", testDeliveriesAgainstModel},
		{"FindDeliveriesRefuses", testFindDeliveriesRefuses},
		{"DeliveriesLarge", testDeliveriesLarge},
		{"DeliveriesConcurrently", testDeliveriesConcurrently},
		{"DueDeliveriesAreComplete", testDueDeliveriesAreComplete},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}
