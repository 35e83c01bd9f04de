package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// UsageKinds lists the kinds that Usage tells apart; KindOther is all that no policy is about.
var UsageKinds = []string{KindExecutions, KindEvents, KindBatches, KindDeliveries, KindAgents, KindIdempotency, KindAudit, KindWorkspaces, KindOther}

// KindWorkspaces is what workspaces take on disk beside the store, of which it has the records.
const KindWorkspaces = "workspaces"

// KindAudit is the audit trail, which core/audit removes from: its records, and how far sinks have them.
const KindAudit = "audit"

// KindOther is what belongs to none of the kinds that retention removes.
const KindOther = "other"

// KindUsage is the space that a kind of records takes: keys and values before they are compressed, indexes included.
type KindUsage struct {
	Records int64 // executions, entries of the log, batches, deliveries and so on, without what belongs to them
	Bytes   int64
	Old     int64 // records that the policy would remove
}

// Usage is what is stored, by kind.
type Usage map[string]*KindUsage

// usageKinds says which kind a table is counted with, and whether its keys are the records of the kind.
var usageKinds = map[string]struct {
	kind   string
	record bool
}{
	prefixExecution: {KindExecutions, true}, prefixActive: {KindExecutions, false},
	prefixByStatus: {KindExecutions, false}, prefixByBoth: {KindExecutions, false}, prefixQuestion: {KindExecutions, false},
	prefixByBatch: {KindExecutions, false}, prefixByCreator: {KindExecutions, false}, prefixByError: {KindExecutions, false},
	prefixByMetadata:                 {KindExecutions, false},
	prefixByEnd:                      {KindExecutions, false},
	prefixIndex + kindQuestion + "/": {KindExecutions, false}, prefixIndex + kindQuestion + "x/": {KindExecutions, false},
	prefixIndex + kindQuestion + "s/": {KindExecutions, false}, prefixIndex + kindQuestion + "xs/": {KindExecutions, false},
	prefixThread: {KindExecutions, false}, prefixThreadState: {KindExecutions, false},
	prefixThreadFiles: {KindExecutions, false}, prefixThreadInput: {KindExecutions, false}, prefixDecision: {KindExecutions, false},
	prefixDecisionPrint: {KindExecutions, false},
	prefixLog:           {KindEvents, true}, prefixBatch: {KindBatches, true}, prefixBatchInput: {KindBatches, false},
	prefixBatchResult: {KindBatches, false}, prefixBatchValue: {KindBatches, false}, prefixBatchActive: {KindBatches, false},
	prefixIndex + kindBatch + "/":    {KindBatches, false},
	prefixIndex + kindBatch + "s/":   {KindBatches, false},
	prefixIndex + kindBatch + "p/":   {KindBatches, false},
	prefixIndex + kindBatch + "c/":   {KindBatches, false},
	prefixIndex + kindBatch + "sp/":  {KindBatches, false},
	prefixIndex + kindBatch + "sc/":  {KindBatches, false},
	prefixIndex + kindBatch + "pc/":  {KindBatches, false},
	prefixIndex + kindBatch + "spc/": {KindBatches, false},
	prefixDelivery:                   {KindDeliveries, true}, prefixDeliveries: {KindDeliveries, false}, prefixDue: {KindDeliveries, false},
	prefixAudit: {KindAudit, true}, prefixAuditCursor: {KindAudit, false}, keyAudit: {KindAudit, false},
	prefixAgent: {KindAgents, true}, prefixIdempotency: {KindIdempotency, true}, prefixIdemByTime: {KindIdempotency, false},
}

// usageOf finds the kind of a key.
func usageOf(key []byte) (kind string, record bool) {
	if rest, ok := bytes.CutPrefix(key, []byte(prefixJournal)); ok {
		if owner := journalOwner(rest); owner != nil && !bytes.HasPrefix(owner, []byte(prefixManaged)) {
			return KindExecutions, false
		}
		return KindEvents, false
	}
	end := bytes.IndexByte(key, '/')
	if end > 0 && string(key[:end+1]) == prefixIndex {
		if next := bytes.IndexByte(key[end+1:], '/'); next >= 0 {
			end += next + 1
		}
	}
	if k, ok := usageKinds[string(key[:end+1])]; ok {
		return k.kind, k.record
	}
	return KindOther, false
}

// measureUsage goes over all keys.
func measureUsage(ctx context.Context, txn kv.Snapshot, policy Policy, now time.Time) (Usage, error) {
	u := Usage{}
	for _, kind := range UsageKinds {
		u[kind] = &KindUsage{}
	}
	bounds := map[string]string{} // ids of old records are below
	for _, k := range []struct {
		table, prefix string
		keep          time.Duration
	}{
		{prefixExecution, core.PrefixExecution, policy.Executions}, {prefixBatch, core.PrefixBatch, policy.Batches},
		{prefixDelivery, core.PrefixDelivery, policy.Deliveries},
	} {
		if k.keep > 0 {
			bounds[k.table] = k.table + core.IDBound(k.prefix, now.Add(-k.keep))
		}
	}
	it := txn.Iterate(nil, false)
	defer it.Close()
	it.Seek(nil)
	for key, ok := it.Key(); ok; key, ok = it.Key() {
		kind, record := usageOf(key)
		k := u[kind]
		k.Bytes += int64(len(key)) + it.Size()
		if record {
			k.Records++
			if end := bytes.IndexByte(key, '/'); bounds[string(key[:end+1])] > string(key) {
				k.Old++
			}
		}
		if k.Records%progressEvery == 0 && ctx.Err() != nil {
			return u, ctx.Err()
		}
		it.Next()
	}
	if policy.Events > 0 {
		old := cutoff{before: now.Add(-policy.Events), now: now}
		err := scan(txn, []byte(prefixLog), nil, true, func(key, subject []byte) (bool, error) {
			stored, err := get(txn, appendJournalKey(nil, string(subject), lastUint64(key)))
			if err != nil {
				return false, err
			}
			e, err := decodeEvent(string(subject), lastUint64(key), stored)
			if err == nil && !old.passed(e.Time) {
				return e.Time.After(now), nil
			}
			u[KindEvents].Old++
			return true, ctx.Err()
		})
		if err != nil {
			return u, err
		}
	}
	if err := measureWorkspaces(ctx, txn, policy.WorkspaceBytes, now, u[KindWorkspaces]); err != nil {
		return u, err
	}
	for kind, limit := range policy.limits() {
		u[kind].Old = max(u[kind].Old, u[kind].above(limit))
	}
	return u, nil
}

// measureWorkspaces counts what workspaces take beside the store, as of the last look at each, and those that retention
// would remove: what is expired, and the oldest of those whose thread is over beyond a size. Some may stay for work that is
// nowhere else, which only a look at their files tells.
func measureWorkspaces(ctx context.Context, txn kv.Snapshot, limit int64, now time.Time, k *KindUsage) error {
	var released []core.Workspace
	var sum int64
	err := scan(txn, []byte(prefixWorkspace), nil, true, func(_, value []byte) (bool, error) {
		var w core.Workspace
		if json.Unmarshal(value, &w) != nil || w.Status == core.WorkspaceRemoved {
			return true, ctx.Err()
		}
		k.Records, k.Bytes = k.Records+1, k.Bytes+w.SizeBytes
		switch {
		case w.ExpiresAt != nil && !now.Before(*w.ExpiresAt):
			k.Old++
		case w.Status == core.WorkspaceReleased && w.ExpiresAt != nil:
			released, sum = append(released, w), sum+w.SizeBytes
		}
		return true, ctx.Err()
	})
	if limit <= 0 {
		return err
	}
	slices.SortFunc(released, func(a, b core.Workspace) int { return a.ExpiresAt.Compare(*b.ExpiresAt) })
	for i := 0; i < len(released) && sum > limit; i++ {
		sum -= released[i].SizeBytes
		k.Old++
	}
	return err
}

// limits are the kinds that are bounded by size.
func (p Policy) limits() map[string]int64 {
	limits := map[string]int64{KindExecutions: p.ExecutionBytes, KindEvents: p.EventBytes, KindDeliveries: p.DeliveryBytes}
	for kind, limit := range limits {
		if limit <= 0 {
			delete(limits, kind)
		}
	}
	return limits
}

// sizeSlack is how much below its limit a kind is brought, as a part of the limit, so that not every run has to.
const sizeSlack = 20

// above returns how many records a kind has to lose to come below a limit, taken that all are of one size.
func (u *KindUsage) above(limit int64) int64 {
	if u.Bytes <= limit || u.Bytes == 0 {
		return 0
	}
	excess := float64(u.Bytes-limit+limit/sizeSlack) / float64(u.Bytes)
	return min(int64(excess*float64(u.Records))+1, u.Records)
}

// sizeExcess returns how many records of each kind are beyond the limits of the policy. What all takes on disk is known at
// no cost: only if that comes near a limit, all keys are gone over.
func (s *Store) sizeExcess(ctx context.Context, policy Policy) (map[string]int64, error) {
	limits := policy.limits()
	if len(limits) == 0 {
		return nil, nil
	}
	least := int64(-1)
	for _, limit := range limits {
		if least < 0 || limit < least {
			least = limit
		}
	}
	const compressed = 4 // what is on disk may be so many times more when it is counted
	if st := s.Stats(); (st.LSMBytes+memTable)*compressed+s.valueBytes() < least {
		return nil, nil
	}
	excess := map[string]int64{}
	err := s.view(ctx, func(txn kv.Snapshot) error {
		u, err := measureUsage(ctx, txn, Policy{}, s.opts.Clock.Now())
		if err != nil {
			return err
		}
		for kind, limit := range limits {
			if n := u[kind].above(limit); n > 0 {
				excess[kind] = n
			}
		}
		return nil
	})
	return excess, err
}

// MeasureUsage goes over a store that no process uses, and says what each kind of records takes and what a policy would
// remove of it now.
func MeasureUsage(ctx context.Context, path string, encryption *Encryption, policy Policy, now time.Time) (u Usage, err error) {
	c, err := openChecker(ctx, CheckOptions{Path: path, Logger: hclog.NewNullLogger(), Encryption: encryption})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.db.Close()) }()
	txn := c.db.Snapshot()
	defer txn.Discard()
	return measureUsage(ctx, txn, policy, now)
}

// capPending gives up what waits for an endpoint beyond the policy: the oldest deliveries above a count, and those that
// wait for too long. They are failed then, and may be retried by hand.
func (s *Store) capPending(ctx context.Context, old cutoff, most int) (int, error) {
	if old.zero() && most <= 0 {
		return 0, nil
	}
	var live map[string]uint32
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		live, err = s.webhookNumbers(txn)
		return err
	})
	given := 0
	for _, number := range live {
		n, giveErr := s.capPendingOf(ctx, number, old, most)
		given, err = given+n, errors.Join(err, giveErr)
	}
	return given, err
}

func (s *Store) capPendingOf(ctx context.Context, number uint32, old cutoff, most int) (given int, err error) {
	waits := func(status, _ int) bool { return byte(status) == pendingStatus }
	excess := int64(-1)
	for {
		var ids []string
		err := s.view(ctx, func(txn kv.Snapshot) error {
			c, err := s.deliveryCounts(txn, number)
			if err != nil {
				return err
			}
			if excess < 0 {
				excess = 0
				if most > 0 {
					excess = max(c.total(int(pendingStatus), -1)-int64(most), 0)
				}
			}
			return mergeUp(txn, c.lists(number, waits), "", func(id string) (bool, error) {
				if int64(len(ids)) >= excess {
					made, ok := core.IDTime(id)
					if !ok || !old.passed(made) {
						return false, nil
					}
				}
				ids = append(ids, id)
				return len(ids) < retainDeliveryRows, ctx.Err()
			})
		})
		if err != nil || len(ids) == 0 {
			return given, err
		}
		n, err := s.giveUp(ctx, ids)
		given, excess = given+n, max(excess-int64(len(ids)), 0)
		if err != nil || n == 0 {
			return given, err
		}
	}
}

// waitedTooLong is why a delivery failed that retention gave up.
const waitedTooLong = "given up: too many deliveries wait for this endpoint, or this one waited for too long"

func (s *Store) giveUp(ctx context.Context, ids []string) (n int, err error) {
	now := s.opts.Clock.Now().UTC()
	err = s.update(ctx, true, func(t *tx) error {
		n = 0
		for _, id := range ids {
			d, err := t.FindDelivery(id)
			if err != nil {
				if core.ErrorCode(err) != core.CodeNotFound {
					if _, err = s.pass(appendKey(nil, prefixDelivery, id), err); err != nil {
						return err
					}
				}
				continue
			}
			if d.Status != core.DeliveryPending {
				continue
			}
			d.Status, d.NextAt, d.Timestamp, d.LastError = core.DeliveryFailed, nil, &now, waitedTooLong
			if err := t.PutDelivery(d); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
