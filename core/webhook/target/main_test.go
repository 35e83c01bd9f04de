package target_test

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// discard is for servers that are meant to fail.
func discard() *log.Logger { return log.New(io.Discard, "", 0) }
