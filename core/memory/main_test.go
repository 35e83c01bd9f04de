package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/blevesearch/bleve/v2" // starts the workers of its analysis before TestMain
)

// The library's workers live as long as the process, and are there before the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }
