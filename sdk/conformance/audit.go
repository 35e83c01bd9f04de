package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
)

// AuditOptions say what is checked. The destination is empty at the beginning.
type AuditOptions struct {
	// Sink is the sink under test.
	Sink audit.Sink
	// Crash ends the sink's process as SIGKILL does, and returns the sink of a new process with the same
	// destination. Nil: what a crash leaves is not checked.
	Crash func(ctx context.Context) (audit.Sink, error)
	// Read returns the records that are in the destination, as an auditor would find them, in order.
	Read func(ctx context.Context) ([][]byte, error)
	// Timeout bounds each check; 0: a minute.
	Timeout time.Duration
}

// Audit checks an audit sink as subtests of t. The subtests build on each other.
func Audit[T Tester[T]](ctx context.Context, t T, o AuditOptions) {
	t.Helper()
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	runAll(ctx, t, auditChecks, &auditSubject{AuditOptions: o}, o.Timeout)
}

var auditChecks = []check[*auditSubject]{
	{"open/empty", "a sink without records says that none is durable", false, openEmpty},
	{"write/acknowledged", "what is acknowledged is in the destination, byte for byte and in order", false, writeAcknowledged},
	{"write/gap", "a batch with a gap is INVALID_ARGUMENT, and nothing of it is kept", false, writeGap},
	{"flush/all", "after Flush everything that was written is durable", false, flushAll},
	{"crash/durable", "what was acknowledged survives a kill, and Open tells no less", false, crashDurable},
	{"write/again", "records that the sink has already do no harm", false, writeAgain},
}

// auditSubject is the subject of the checks of a sink: they are one history.
type auditSubject struct {
	AuditOptions
	written [][]byte // what was given to the sink, by sequence from 1
	durable uint64   // what it acknowledged
}

// batch makes records; they are kept as written once they are.
func (a *auditSubject) batch(n int) []audit.Record {
	var records []audit.Record
	for i := range n {
		sequence := uint64(len(a.written)+i) + 1
		records = append(records, audit.Record{
			Sequence: sequence, Time: time.Unix(1_700_000_000+int64(sequence), 0).UTC(),
			// What breaks a careless encoder: quotes, a backslash, text that is not ASCII.
			JSON: fmt.Appendf(nil, `{"sequence":%d,"text":"\"quoted\" \\ héllo €"}`, sequence),
		})
	}
	return records
}

// acknowledge keeps an acknowledgement, unless it makes no sense.
func (a *auditSubject) acknowledge(what string, durable uint64) error {
	if durable < a.durable || durable > uint64(len(a.written)) {
		return fmt.Errorf("%s says that %d is durable; %d was before, and %d records were written", what, durable, a.durable, len(a.written))
	}
	a.durable = durable
	return nil
}

func (a *auditSubject) write(ctx context.Context, n int) error {
	batch := a.batch(n)
	durable, err := a.Sink.Write(ctx, batch)
	if err != nil {
		return fmt.Errorf("Write: %w", err)
	}
	for _, record := range batch {
		a.written = append(a.written, record.JSON)
	}
	return a.acknowledge("Write", durable)
}

// check compares the destination with what was acknowledged.
func (a *auditSubject) check(ctx context.Context) error {
	kept, err := a.Read(ctx)
	if err != nil {
		return fmt.Errorf("reading the destination: %w", err)
	}
	if uint64(len(kept)) < a.durable {
		return fmt.Errorf("the destination has %d records, and %d were acknowledged", len(kept), a.durable)
	}
	if len(kept) > len(a.written) {
		return fmt.Errorf("the destination has %d records of %d that were written", len(kept), len(a.written))
	}
	for i, record := range kept {
		if !bytes.Equal(record, a.written[i]) {
			return fmt.Errorf("record %d is %q in the destination and was %q", i+1, record, a.written[i])
		}
	}
	return nil
}

func openEmpty(ctx context.Context, a *auditSubject) error {
	durable, err := a.Sink.Open(ctx, 1)
	if err != nil {
		return fmt.Errorf("Open: %w", err)
	}
	return a.acknowledge("Open", durable)
}

func writeAcknowledged(ctx context.Context, a *auditSubject) error {
	for _, n := range []int{1, 10, 500} {
		if err := a.write(ctx, n); err != nil {
			return err
		}
		if err := a.check(ctx); err != nil {
			return err
		}
	}
	return nil
}

func writeGap(ctx context.Context, a *auditSubject) error {
	batch := a.batch(3)
	_, err := a.Sink.Write(ctx, []audit.Record{batch[0], batch[2]})
	var e *audit.Error
	if err == nil {
		return fmt.Errorf("Write of a batch with a gap returned no error and should be %s", audit.CodeInvalidArgument)
	}
	if !errors.As(err, &e) || e.Code != audit.CodeInvalidArgument {
		return fmt.Errorf("Write of a batch with a gap returned %w and should be %s", err, audit.CodeInvalidArgument)
	}
	// After a failure the appliance opens again.
	durable, err := a.Sink.Open(ctx, a.durable+1)
	if err != nil {
		return fmt.Errorf("Open: %w", err)
	}
	if durable != 0 {
		if err := a.acknowledge("Open", durable); err != nil {
			return err
		}
	}
	return a.check(ctx)
}

func flushAll(ctx context.Context, a *auditSubject) error {
	if err := a.write(ctx, 5); err != nil {
		return err
	}
	durable, err := a.Sink.Flush(ctx)
	if err != nil {
		return fmt.Errorf("Flush: %w", err)
	}
	if err := a.acknowledge("Flush", durable); err != nil {
		return err
	}
	if a.durable != uint64(len(a.written)) {
		return fmt.Errorf("after Flush %d of %d records are durable", a.durable, len(a.written))
	}
	return a.check(ctx)
}

func crashDurable(ctx context.Context, a *auditSubject) error {
	if a.Crash == nil {
		return skip("the caller cannot kill the sink")
	}
	if err := a.write(ctx, 50); err != nil {
		return err
	}
	sink, err := a.Crash(ctx)
	if err != nil {
		return fmt.Errorf("killing the sink and starting it again: %w", err)
	}
	a.Sink = sink
	if err := a.check(ctx); err != nil {
		return err
	}
	durable, err := a.Sink.Open(ctx, a.durable+1)
	if err != nil {
		return fmt.Errorf("Open: %w", err)
	}
	if durable != 0 {
		if err := a.acknowledge("Open", durable); err != nil {
			return err
		}
	}
	// What was not acknowledged may be gone: the appliance sends it again.
	return a.sendFrom(ctx, a.durable)
}

// sendFrom writes again what comes after a sequence.
func (a *auditSubject) sendFrom(ctx context.Context, after uint64) error {
	var batch []audit.Record
	for i := after; i < uint64(len(a.written)); i++ {
		batch = append(batch, audit.Record{Sequence: i + 1, Time: time.Unix(1_700_000_000, 0).UTC(), JSON: a.written[i]})
	}
	if len(batch) > 0 {
		durable, err := a.Sink.Write(ctx, batch)
		if err != nil {
			return fmt.Errorf("Write of records that are written already: %w", err)
		}
		if err := a.acknowledge("Write", durable); err != nil {
			return err
		}
	}
	durable, err := a.Sink.Flush(ctx)
	if err != nil {
		return fmt.Errorf("Flush: %w", err)
	}
	return a.acknowledge("Flush", durable)
}

// writeAgain is the last check: afterwards the destination may hold records twice, if that does no harm.
func writeAgain(ctx context.Context, a *auditSubject) error {
	after := max(a.durable, 3) - 3
	durable, err := a.Sink.Open(ctx, after+1)
	if err != nil {
		return fmt.Errorf("Open: %w", err)
	}
	if durable != 0 {
		if err := a.acknowledge("Open", durable); err != nil {
			return err
		}
	}
	if err := a.sendFrom(ctx, after); err != nil {
		return err
	}
	kept, err := a.Read(ctx)
	if err != nil {
		return fmt.Errorf("reading the destination: %w", err)
	}
	for i, written := range a.written {
		found := false
		for _, record := range kept {
			found = found || bytes.Equal(record, written)
		}
		if !found {
			return fmt.Errorf("record %d was lost by writing it again", i+1)
		}
	}
	return nil
}
