package erasure

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Store is the part of the store that the service uses.
//
// It has many methods because an export reads every noun.
type Store interface {
	core.ErasureStore
	core.ExecutionReader
	core.BatchReader
	core.QuestionReader
	core.ThreadReader
	core.WorkspaceReader
	core.MemoryReader
	core.SessionReader
	core.ScheduleReader
	core.TriggerReader
	Events(ctx context.Context, subject string, after uint64, limit int) (page []core.Event, more bool, err error)
}

// Work is what executions and batches are ended and removed by. *engine.Engine is one.
type Work interface {
	Cancel(ctx context.Context, id, reason string) (*core.Execution, error)
	CancelBatch(ctx context.Context, id string) (*core.Batch, error)
	Delete(ctx context.Context, id string) error
}

// Memory forgets experiences. *memory.Service is one.
type Memory interface {
	ForgetExecution(ctx context.Context, executionID string) (ids []string, err error)
}

// ManagedAgents are ended and forgotten. *runtimes.Service is one.
type ManagedAgents interface {
	FindManagedAgents(ctx context.Context, filter core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error)
	StopManagedAgent(ctx context.Context, id string, opts core.ManagedAgentStop) error
	ForgetManagedAgent(ctx context.Context, id string) error
	PruneRuntime(ctx context.Context, name string) (left string, err error)
}

// Workspaces are removed with their files. *workspace.Service is one.
type Workspaces interface {
	EraseWorkspace(ctx context.Context, id string) (left string, err error)
}

// Trail is the audit trail. *audit.Service is one.
type Trail interface {
	Redact(row core.AuditRow, e *core.ErasureRecord, marked func(id string) bool) ([]byte, error)
	FindAudit(ctx context.Context, filter core.AuditFilter) (*core.AuditPage, error)
}

// Options are what a Service is made of. Sessions may be nil; the others are needed.
type Options struct {
	Store      Store
	Work       Work
	Memory     Memory
	Managed    ManagedAgents
	Workspaces Workspaces
	Trail      Trail
	Schedules  interface {
		DeleteSchedule(ctx context.Context, id string) error
	}
	Triggers interface {
		DeleteTrigger(ctx context.Context, id string) error
	}
	Sessions interface {
		RevokeSession(ctx context.Context, id string) (idToken string, err error)
	}
	// Remaining returns what an erasure leaves, beside what it finds itself.
	Remaining func(ctx context.Context, subject string) ([]core.DataRemainder, error)
	Clock     core.Clock
	IDs       core.IDs
	Logger    hclog.Logger
}

// Service implements core.ErasureService. Make it with New, start it with Open, end it with Close.
type Service struct {
	opts Options
	log  hclog.Logger
	wake chan struct{} // holds one

	beginning sync.Mutex // one request is begun at a time
	writing   sync.Mutex // a record is read and written at a time; taken after beginning
	ctx       context.Context
	cancel    context.CancelFunc
	wg        sync.WaitGroup
}

var _ core.ErasureService = (*Service)(nil)

// New makes a service. It starts nothing.
func New(o Options) *Service {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	s := &Service{opts: o, log: o.Logger, wake: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Open goes on with the erasures that a former process began.
func (s *Service) Open() {
	s.wg.Go(s.work)
}

// Close stops the work, which goes on at the next start. Safe to call twice.
func (s *Service) Close() {
	s.cancel()
	s.wg.Wait()
}

// work goes on with what runs, the oldest first, whenever it is woken.
func (s *Service) work() {
	backoff := pause.Backoff{First: 200 * time.Millisecond, Most: 30 * time.Second}
	doubtful := false // what was written last
	for s.ctx.Err() == nil {
		if doubtful && core.TakesWrites(s.ctx, s.opts.Store) != nil { // what is read may be older than what is stored
			pause.For(s.ctx, s.opts.Clock, backoff.Next())
			continue
		}
		doubtful = false
		waits := false
		list, err := s.running(s.ctx)
		if err != nil && s.ctx.Err() == nil {
			s.log.Error("the erasures cannot be read", "error", err)
			waits = true
		}
		for _, e := range list {
			if err := s.advance(s.ctx, e); err != nil && s.ctx.Err() == nil {
				waits = true
				s.log.Warn("an erasure waits", "erasure", e.ID, "step", e.Step, "error", err)
				if doubtful = doubtful || errors.Is(err, core.ErrInDoubt); !doubtful { // else more than e has may be stored
					s.note(e, err)
				}
			}
		}
		if waits {
			pause.For(s.ctx, s.opts.Clock, backoff.Next())
			continue
		}
		backoff.Reset()
		select {
		case <-s.wake:
		case <-s.ctx.Done():
		}
	}
}

// note reports why an erasure does not get on.
func (s *Service) note(e *core.ErasureRecord, cause error) {
	next := clone(e)
	next.Waiting = cause.Error()
	if next.Waiting != e.Waiting && s.save(s.ctx, next) == nil {
		*e = *next
	}
}

func (s *Service) save(ctx context.Context, e *core.ErasureRecord) error {
	return s.put(ctx, e, func(tx core.Tx) error { return tx.PutErasure(e) })
}

// put makes a change of an erasure, which runs, and leaves what was asked of it meanwhile as it is.
func (s *Service) put(ctx context.Context, e *core.ErasureRecord, fn func(tx core.Tx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if stops(e) && !e.Cancel {
		stored, err := s.opts.Store.FindErasure(ctx, e.ID)
		if err != nil {
			return err
		}
		e.Cancel = stored.Cancel
	}
	return s.update(ctx, fn)
}

// update is doubt.Update for as long as the service is open.
func (s *Service) update(ctx context.Context, fn func(tx core.Tx) error) error {
	return doubt.Update(ctx, s.ctx, s.opts.Clock, s.opts.Store, fn, pause.For)
}

// stops reports whether an erasure has not seen yet to it that nothing runs.
func stops(e *core.ErasureRecord) bool { return e.Step == stepSchedules || e.Step == stepStop }

// alsoCancel has an erasure that runs cancel what it waits for.
func (s *Service) alsoCancel(ctx context.Context, id string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	e, err := s.opts.Store.FindErasure(ctx, id)
	if err != nil || e.Cancel || !stops(e) {
		return err
	}
	next := clone(e)
	next.Cancel = true
	return s.update(ctx, func(tx core.Tx) error { return tx.PutErasure(next) })
}

func clone(e *core.ErasureRecord) *core.ErasureRecord {
	own := *e
	own.Done = maps.Clone(e.Done)
	if own.Done == nil {
		own.Done = core.DataCounts{}
	}
	return &own
}

// running returns the erasures that are not over, oldest first.
func (s *Service) running(ctx context.Context) ([]*core.ErasureRecord, error) {
	list, err := s.opts.Store.AllErasures(ctx)
	return slices.DeleteFunc(list, func(e *core.ErasureRecord) bool { return e.Status != wire.ErasureRunning }), err
}

// checkSubject refuses what cannot be one.
func checkSubject(subject string) error {
	switch {
	case strings.TrimSpace(subject) == "" || len(subject) > core.MaxIndexedBytes:
		return core.Invalid("subject", "must be 1 to %d bytes: the id of who made the data, or the value of the metadata key %s", core.MaxIndexedBytes, core.SubjectKey)
	case core.IsReserved(subject):
		return core.Invalid("subject", "%s is nobody: it stands for everyone without a credential, or for Wardroom itself", subject)
	}
	return nil
}

// Plan implements core.ErasureService.
func (s *Service) Plan(ctx context.Context, subject string) (*core.Erasure, error) {
	if err := checkSubject(subject); err != nil {
		return nil, err
	}
	p, _, err := s.plan(ctx, subject)
	return p, err
}

// plan is Plan for a subject that was checked. through is that of count.
func (s *Service) plan(ctx context.Context, subject string) (p *core.Erasure, through string, err error) {
	p = &core.Erasure{Planned: core.DataCounts{}, Active: core.DataCounts{}}
	if through, err = s.count(ctx, subject, p); err != nil {
		return nil, "", err
	}
	if s.opts.Remaining != nil {
		p.Remaining, err = s.opts.Remaining(ctx, subject)
	}
	return p, through, err
}

// Erase implements core.ErasureService.
func (s *Service) Erase(ctx context.Context, req core.ErasureRequest) (*core.Erasure, error) {
	if err := checkSubject(req.Subject); err != nil {
		return nil, err
	}
	if req.DryRun {
		return s.Plan(ctx, req.Subject)
	}
	if req.Confirm != req.Subject {
		return nil, core.Invalid("confirm", "must be the subject once more: an erasure cannot be undone; see what would go with dryRun")
	}
	s.beginning.Lock()
	defer s.beginning.Unlock()
	list, err := s.running(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.Subject != req.Subject {
			continue
		}
		if req.Cancel && !e.Cancel {
			if err := s.alsoCancel(ctx, e.ID); err != nil {
				return nil, err
			}
		}
		return &e.Erasure, nil
	}
	plan, through, err := s.plan(ctx, req.Subject)
	if err != nil {
		return nil, err
	}
	if len(plan.Active) > 0 && !req.Cancel {
		return nil, core.Conflict("subject", "", "active", "%s of the subject not over: wait for what runs, or have it cancelled with cancel", activeText(plan.Active))
	}
	random := make([]byte, 10)
	if _, err := rand.Read(random); err != nil {
		return nil, core.AsError(err)
	}
	e := &core.ErasureRecord{Erasure: *plan, Subject: req.Subject, Cancel: req.Cancel, Through: through}
	e.ID, e.Status, e.CreatedAt = s.opts.IDs.New(core.PrefixErasure), wire.ErasureRunning, s.opts.Clock.Now().UTC()
	e.Pseudonym = "erased-" + strings.ToLower(base32.StdEncoding.EncodeToString(random))
	e.RequestedBy, e.Step = core.PrincipalFrom(ctx).ID, steps[0].name
	err = s.update(ctx, func(tx core.Tx) error {
		tx.AfterCommit(s.begin) // also where that is known only after its caller left
		return tx.PutErasure(e)
	})
	if err != nil {
		return nil, err
	}
	s.log.Info("erasure began", "erasure", e.ID, "planned", fmt.Sprint(map[string]int(e.Planned)))
	return &e.Erasure, nil
}

// begin has what runs gone on with.
func (s *Service) begin() { pause.Wake(s.wake) }

// activeText names what runs.
func activeText(active core.DataCounts) string {
	var parts []string
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(active)) {
		parts = append(parts, fmt.Sprintf("%d %s", active[kind], kind))
		total += active[kind]
	}
	verb := " are"
	if total == 1 {
		verb = " is"
	}
	return strings.Join(parts, ", ") + verb
}

// FindErasure implements core.ErasureService.
func (s *Service) FindErasure(ctx context.Context, id string) (*core.Erasure, error) {
	e, err := s.opts.Store.FindErasure(ctx, id)
	if err != nil {
		return nil, err
	}
	return &e.Erasure, nil
}

// FindErasures implements core.ErasureService.
func (s *Service) FindErasures(ctx context.Context, filter core.ErasureFilter) ([]*core.Erasure, core.PageInfo, error) {
	filter.Limit = cmp.Or(filter.Limit, core.DefaultPageLimit)
	list, info, err := s.opts.Store.FindErasures(ctx, filter)
	out := make([]*core.Erasure, len(list))
	for i, e := range list {
		out[i] = &e.Erasure
	}
	return out, info, err
}
