package memory

import (
	"bytes"
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of a decision.
const (
	MaxSummary = 4000     // characters
	MaxDetails = 64 << 10 // bytes of JSON
)

var category = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// reserved are the categories that only the system writes.
var reserved = []string{core.DecisionThreadSummary, core.DecisionCompletionOutcome, core.DecisionFailureRecovery}

// AddDecision implements core.MemoryService.
func (s *Service) AddDecision(ctx context.Context, d core.Decision) (*core.Decision, error) {
	if err := check(&d); err != nil {
		return nil, err
	}
	d = core.Decision{
		Decision: wire.Decision{
			ExecutionID: d.ExecutionID, ThreadID: d.ThreadID, Category: d.Category, Summary: strings.TrimSpace(d.Summary),
			Details: bytes.Clone(bytes.TrimSpace(d.Details)), CreatedBy: core.PrincipalFrom(ctx).ID,
		},
	}
	claim := core.IdempotencyFrom(ctx)
	var kept *core.Decision
	err := doubt.Update(ctx, ctx, s.clock, s.store, func(tx core.Tx) error {
		d := d
		if d.ThreadID != "" {
			t, err := tx.FindThread(d.ThreadID)
			if err != nil {
				return err
			}
			if d.ExecutionID == "" {
				d.ExecutionID = t.ExecutionID
			} else if d.ExecutionID != t.ExecutionID {
				return core.Invalid("threadId", "thread %s is not of execution %s; leave one of them out", t.ID, d.ExecutionID)
			}
		}
		if _, err := tx.FindExecution(d.ExecutionID); err != nil {
			return err
		}
		if err := s.KeepDecision(tx, &d); err != nil {
			return err
		}
		kept = &d
		return tx.ClaimIdempotency(claim, d.ID, s.clock.Now())
	}, pause.For)
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// check tells everything that is wrong with a decision that somebody writes.
func check(d *core.Decision) error {
	var problems []core.Problem
	bad := func(field, reason string) { problems = append(problems, core.Problem{Path: field, Reason: reason}) }
	if d.ExecutionID == "" && d.ThreadID == "" {
		bad("executionId", "is missing; name the execution or the thread")
	}
	switch {
	case d.Category == "":
		bad("category", "is missing; use a word such as architecture")
	case !category.MatchString(d.Category):
		bad("category", "must be 1 to 64 of a-z, 0-9, _ and -, such as architecture")
	case slices.Contains(reserved, d.Category):
		bad("category", d.Category+" is written by the system only; use another word")
	}
	switch summary := strings.TrimSpace(d.Summary); {
	case summary == "":
		bad("summary", "is missing; say what was decided")
	case !utf8.ValidString(summary):
		bad("summary", "is not text in UTF-8")
	case utf8.RuneCountInString(summary) > MaxSummary:
		bad("summary", "is longer than 4000 characters; put the rest into details")
	}
	switch details := bytes.TrimSpace(d.Details); {
	case len(details) == 0:
	case len(details) > MaxDetails:
		bad("details", "is larger than 64 KiB; keep large data elsewhere, and name it")
	case rawjson.CheckLoose(details) != nil || rawjson.KindOf(details) != rawjson.Object:
		bad("details", "must be a JSON object")
	}
	return core.InvalidAll("decision", problems)
}

// FindDecisions implements core.MemoryService.
func (s *Service) FindDecisions(ctx context.Context, f core.DecisionFilter) ([]*core.Decision, core.PageInfo, error) {
	if f.ExecutionID != "" {
		if _, err := s.store.FindExecution(ctx, f.ExecutionID); err != nil {
			return nil, core.PageInfo{}, err
		}
	}
	if f.ThreadID != "" {
		if _, err := s.store.FindThread(ctx, f.ThreadID); err != nil {
			return nil, core.PageInfo{}, err
		}
	}
	return s.store.FindDecisions(ctx, f)
}

// KeepDecision implements core.MemoryService.
func (s *Service) KeepDecision(tx core.Tx, d *core.Decision) error {
	now := s.clock.Now()
	d.CreatedBy = cmp.Or(d.CreatedBy, core.System.ID)
	d.Summary = cut(strings.ToValidUTF8(d.Summary, "\uFFFD"), MaxSummary)
	d.Fingerprint = decisionPrint(d)
	same, err := tx.SameDecision(d.ExecutionID, d.Fingerprint)
	if err != nil {
		return err
	}
	if same != nil {
		again := *same
		again.Count = max(again.Count, 1) + 1
		again.UpdatedAt = &now
		if !again.ByHand() { // what a person confirms counts as by hand
			again.CreatedBy = d.CreatedBy
		}
		*d = again
		return tx.PutDecision(&again)
	}
	if d.ID == "" {
		d.ID = s.ids.New(core.PrefixDecision)
	}
	if d.CreatedAt.IsZero() {
		d.CreatedAt = now
	}
	d.Count = max(d.Count, 1)
	stored := *d
	return tx.PutDecision(&stored)
}
