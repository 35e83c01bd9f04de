package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/audit/trail"
)

const (
	maxScan = 200_000 // records that one page looks at
	// maxOlder is how many records in a row may be older than a list goes back before it ends: times of records are not
	// always in order, since clocks are set.
	maxOlder = 10_000
	// exportPage is how many records an export reads at a time, so that a slow reader holds up no other.
	exportPage = 500
)

// match is a filter that is ready to be used.
type match struct {
	core.AuditFilter
	marks [][]byte // that the text of each record that matches holds
}

func newMatch(f core.AuditFilter) *match {
	m := &match{AuditFilter: f}
	mark := func(name, value string) {
		if value != "" {
			m.marks = append(m.marks, trail.AppendText([]byte(`"`+name+`":`), value))
		}
	}
	if prefix, ok := strings.CutSuffix(f.Action, "*"); ok {
		whole := trail.AppendText([]byte(`"action":`), prefix)
		m.marks = append(m.marks, whole[:len(whole)-1])
	} else {
		mark("action", f.Action)
	}
	mark("category", f.Category)
	mark("outcome", f.Outcome)
	mark("id", f.Actor)
	kind, id, _ := strings.Cut(f.Resource, "/")
	mark("type", kind)
	mark("id", id)
	return m
}

// of returns the record of a row if it matches, or nil.
func (m *match) of(row core.AuditRow) (*core.AuditRecord, error) {
	for _, mark := range m.marks {
		if !bytes.Contains(row.Record, mark) {
			return nil, nil
		}
	}
	r, err := trail.Parse(row.Record)
	if err != nil {
		return nil, err
	}
	prefix, open := strings.CutSuffix(m.Action, "*")
	kind, id, _ := strings.Cut(m.Resource, "/")
	is := func(wanted, have string) bool { return wanted == "" || wanted == have }
	if !open && !is(m.Action, r.Action) || open && !strings.HasPrefix(r.Action, prefix) || !is(m.Category, r.Category) ||
		!is(m.Outcome, r.Outcome) || !is(m.Actor, r.Actor.ID) || !is(kind, r.Resource.Type) || !is(id, r.Resource.ID) {
		return nil, nil
	}
	return r, nil
}

// FindAudit implements core.AuditService.
func (s *Service) FindAudit(ctx context.Context, filter core.AuditFilter) (*core.AuditPage, error) {
	limit := cmp.Or(filter.Limit, core.DefaultPageLimit)
	if limit < 1 || limit > core.MaxPageLimit {
		return nil, core.Invalid("limit", "must be between 1 and %d", core.MaxPageLimit)
	}
	from := filter.Before - 1 // 0: from the newest on
	if filter.Cursor != "" {
		at, err := parseCursor(filter.Cursor)
		if err != nil {
			return nil, err
		}
		from = min(from, at)
	}
	m := newMatch(filter)
	page := &core.AuditPage{Records: []*core.AuditRecord{}}
	scanned, older := 0, 0
	var passed unread
	err := s.store.AuditRows(ctx, from, true, func(row core.AuditRow) (bool, error) {
		if len(page.Records) == limit || scanned == maxScan {
			page.HasMore, page.NextCursor = true, formatCursor(row.Sequence)
			return false, nil
		}
		scanned++
		if !filter.Since.IsZero() && row.Time.Before(filter.Since) {
			older++
			return older < maxOlder, nil
		}
		older = 0
		if !filter.Until.IsZero() && !row.Time.Before(filter.Until) {
			return true, nil
		}
		r, err := m.of(row)
		if err != nil {
			passed.add(row.Sequence, err)
			return true, nil
		}
		if r != nil {
			page.Records = append(page.Records, r)
		}
		return true, nil
	})
	passed.log(s.log, "a list of the audit trail passes over records that cannot be read")
	if err != nil {
		return nil, err
	}
	return page, nil
}

func formatCursor(sequence uint64) string {
	return base64.RawURLEncoding.EncodeToString([]byte("a" + strconv.FormatUint(sequence, 10)))
}

func parseCursor(cursor string) (uint64, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	digits, ok := strings.CutPrefix(string(text), "a")
	sequence, numErr := strconv.ParseUint(digits, 10, 64)
	if err != nil || !ok || numErr != nil {
		return 0, core.Invalid("cursor", "is not one that a list returned")
	}
	return sequence, nil
}

// errTrimmed is the end of an export that would have a gap, as a trail has that was changed.
var errTrimmed = core.Unavailable("audit_trimmed", "retention removed records before they were exported; export again")

// ExportAudit implements core.AuditService. What lies between the first and the last record of the time is exported
// without gaps, so that it can be verified, also where the clock was set meanwhile. A record that cannot be read is exported as it is as
// JSON, and is a gap in other forms.
func (s *Service) ExportAudit(ctx context.Context, since, until time.Time, format string, w io.Writer) error {
	out, err := trail.NewWriter(w, trail.Format(format), s.opts.Version)
	if err != nil {
		return core.Invalid("format", "%s", err)
	}
	first, last, err := s.bounds(ctx, since, until)
	if err != nil {
		return err
	}
	var passed unread
	defer func() { passed.log(s.log, "an export of the audit trail passes over records that cannot be read") }()
	var page []core.AuditRow
	var written uint64 // sequence of the last record that is; 0: none
	for from := first; from <= last && from > 0; {
		page = page[:0]
		next, there := from, written == 0
		err := s.store.AuditRows(ctx, from-min(written, 1), false, func(row core.AuditRow) (bool, error) {
			switch {
			case row.Sequence == written:
				there = true
				return true, nil
			case row.Sequence > last, !there && row.Sequence > next: // retention was faster
				return false, nil
			}
			there = true
			row.Record = bytes.Clone(row.Record)
			page = append(page, row)
			next = row.Sequence + 1
			return len(page) < exportPage, nil
		})
		switch {
		case err != nil:
			return err
		case !there:
			return errTrimmed
		}
		if len(page) == 0 {
			break
		}
		for _, row := range page {
			err := out.Write(row.Record)
			if errors.Is(err, trail.ErrUnreadable) {
				passed.add(row.Sequence, err)
				continue
			}
			if err != nil {
				return err
			}
		}
		from, written = next, next-1
	}
	return out.Flush()
}

// bounds returns the first and the last record of a time; 0 if there is none.
func (s *Service) bounds(ctx context.Context, since, until time.Time) (first, last uint64, err error) {
	head := s.store.AuditHead()
	if since.IsZero() && until.IsZero() {
		return head.First, head.Sequence, nil
	}
	err = s.store.AuditRows(ctx, head.First, false, func(row core.AuditRow) (bool, error) {
		if row.Sequence > head.Sequence {
			return false, nil
		}
		if !since.IsZero() && row.Time.Before(since) || !until.IsZero() && !row.Time.Before(until) {
			return true, nil
		}
		first = cmp.Or(first, row.Sequence)
		last = row.Sequence
		return true, nil
	})
	return first, last, err
}

// AuditStatus implements core.AuditService.
func (s *Service) AuditStatus(context.Context) (*core.AuditStatus, error) {
	c := s.config.Load()
	head := s.store.AuditHead()
	public := publicOf(s.opts.Key)
	st := &core.AuditStatus{
		Enabled: c.Enabled, Mode: "buffered", Level: LevelNames[c.Level], Events: c.Events, Last: head.Sequence,
		Hash: trail.Hash(head.Hash).String(), Bytes: head.Bytes, Lost: s.Lost(),
		KeyID: trail.KeyID(public), PublicKey: trail.FormatPublicKey(public), Sinks: []core.AuditSink{},
	}
	if c.Blocking {
		st.Mode = "blocking"
	}
	if head.First <= head.Sequence {
		st.First = head.First
	}
	now := s.opts.Clock.Now()
	for _, k := range s.all() {
		st.Sinks = append(st.Sinks, k.status(head, now))
	}
	return st, nil
}

// Trouble returns what is wrong with the delivery of records, or "".
func (s *Service) Trouble() (message, hint string) {
	now := s.opts.Clock.Now()
	head := s.store.AuditHead()
	for _, k := range s.all() {
		if st := k.status(head, now); st.State != "ok" {
			return "the audit sink " + st.Name + " is " + st.State + ", and lacks " + strconv.FormatUint(st.Behind, 10) + " records", "see wardroom audit status"
		}
	}
	if c := s.config.Load(); c.Enabled && c.MaxBytes > 0 && head.Bytes >= c.MaxBytes {
		return "the audit trail is full", "raise security.audit.maxSize, or see to the sinks: wardroom audit status"
	}
	return "", ""
}
