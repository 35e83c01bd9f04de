package audit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/sdk/audit/trail"
)

// spoiledStore is the store of a trail in which every second record cannot be read.
type spoiledStore struct{ core.AuditStore }

func (s spoiledStore) AuditRows(ctx context.Context, from uint64, backwards bool, fn func(row core.AuditRow) (bool, error)) error {
	return s.AuditStore.AuditRows(ctx, from, backwards, func(row core.AuditRow) (bool, error) {
		if row.Sequence%2 == 0 {
			row.Record = row.Record[:len(row.Record)/2]
		}
		return fn(row)
	})
}

// A list passes over records that cannot be read, with one line of the log for all of them.
func TestListBesideUnreadable(t *testing.T) {
	out := new(output)
	r := newLoggedRig(t, "", nil, hclog.New(&hclog.LoggerOptions{Output: out}))
	for range 20 {
		if err := r.execute(core.WithAuditIntent(t.Context(), intent())); err != nil {
			t.Fatal(err)
		}
	}
	reader := audit.New(audit.Options{Clock: r.clock, IDs: core.NewIDs(r.clock), Key: r.key, Config: r.config, Logger: r.logger})
	reader.Open(spoiledStore{r.store}, nil)
	t.Cleanup(reader.Close)
	page, err := reader.FindAudit(t.Context(), core.AuditFilter{Limit: 100})
	if err != nil || len(page.Records) < 10 {
		t.Fatalf("%+v, %v", page, err)
	}
	if lines := out.lines("cannot be read"); len(lines) != 1 {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	// An export in a form that shows what is in records goes on behind them, with a gap.
	for _, format := range []string{string(trail.FormatCSV), string(trail.FormatCEF)} {
		var text strings.Builder
		if err := reader.ExportAudit(t.Context(), time.Time{}, time.Time{}, format, &text); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if n := strings.Count(text.String(), "executions.create,") + strings.Count(text.String(), "|executions.create|"); n < 10 {
			t.Errorf("%s: %d records", format, n)
		}
	}
	if lines := out.lines("cannot be read"); len(lines) != 3 {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}
