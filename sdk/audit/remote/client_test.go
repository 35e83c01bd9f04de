package remote_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/remote"
)

func TestRefusal(t *testing.T) {
	for status, want := range map[int]audit.Code{
		400: audit.CodeInvalidArgument, 401: audit.CodeForbidden, 403: audit.CodeForbidden, 404: audit.CodeInvalidArgument,
		408: audit.CodeUnavailable, 429: audit.CodeUnavailable, 500: audit.CodeUnavailable, 503: audit.CodeUnavailable, 507: audit.CodeFull,
	} {
		if e := remote.Refusal(status, "a reason"); e.Code != want || !e.Retry {
			t.Errorf("%d: %+v, want %s and to be tried again", status, e, want)
		}
	}
}

// A reason is cut between characters, whatever it is made of.
func TestReason(t *testing.T) {
	for _, reason := range []string{"a" + strings.Repeat("é", 1000), strings.Repeat("\xff", 1000)} {
		if e := remote.Refusal(400, reason); !utf8.ValidString(e.Message) || len(e.Message) > 1000 {
			t.Errorf("%q", e.Message)
		}
	}
}
