package remote_test

import (
	"testing"

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
