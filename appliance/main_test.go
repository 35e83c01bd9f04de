package appliance_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The search library starts workers with the process, which live as long as it does.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}
