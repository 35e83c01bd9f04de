package storetest

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core/store"
)

// Opener opens a store with the options that a test is about, and closes it at the end of the test. Opened anew with a Path, it
// has what was stored under that Path before. The files of a store are its own matter: no test looks for any.
type Opener func(tb testing.TB, opts store.Options) *store.Store

// alone are the tests that measure what the process allocates: others must not run beside them.
var alone = []string{"ListsAtOnce", "BatchLargeResults"}

// Run goes over everything that a store promises. Each test has a store of its own and waits for its disk most of the time:
// they run beside each other.
func Run(t *testing.T, open Opener) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open Opener)
	}{
		{"APIKey", testAPIKey},
		{"AgentToken", testAgentToken},
		{"Schedule", testSchedule},
		{"Trigger", testTrigger},
		{"APIKeyListsEqualModel", testAPIKeyListsEqualModel},
		{"Session", testSession},
		{"SessionListsEqualModel", testSessionListsEqualModel},
		{"Decision", testDecision},
		{"DecisionInvalid", testDecisionInvalid},
		{"DecisionListsEqualModel", testDecisionListsEqualModel},
		{"DecisionRolledBack", testDecisionRolledBack},
		{"Experience", testExperience},
		{"ExperienceInvalid", testExperienceInvalid},
		{"ExperienceListsEqualModel", testExperienceListsEqualModel},
		{"WalkExperiences", testWalkExperiences},
		{"EventPrincipal", testEventPrincipal},
		{"Execution", testExecution},
		{"ListsAtOnce", testListsAtOnce},
		{"ExecutionInvalid", testExecutionInvalid},
		{"ExecutionPutAgain", testExecutionPutAgain},
		{"ExecutionListsByFacts", testExecutionListsByFacts},
		{"ExecutionRowsTellFacts", testExecutionRowsTellFacts},
		{"DeleteExecution", testDeleteExecution},
		{"BatchLists", testBatchLists},
		{"Throughput", testThroughput},
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
		{"EventsBefore", testEventsBefore},
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
		{"RetainBatchEvents", testRetainBatchEvents},
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
		{"EraseBatch", testEraseBatch},
		{"EraseEvents", testEraseEvents},
		{"EraseDeliveries", testEraseDeliveries},
		{"EraseIdempotency", testEraseIdempotency},
		{"EraseNames", testEraseNames},
		{"EraseInSteps", testEraseInSteps},
		{"RedactAudit", testRedactAudit},
		{"DropMarks", testDropMarks},
		{"RemovedThreadsLeaveTheLog", testRemovedThreadsLeaveTheLog},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !slices.Contains(alone, test.name) {
				t.Parallel()
			}
			test.run(t, open)
		})
	}
}
