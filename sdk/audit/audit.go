package audit

import (
	"context"
	"time"
)

// Sink keeps records. The appliance calls Open first and again after each failure, and then Write and Flush
// one at a time, in order of Sequence; methods return soon after ctx ends.
type Sink interface {
	// Open begins: the appliance will go on with the record from. It returns the highest sequence that the sink
	// has kept for sure, or 0 if it cannot tell; a sink that is ahead of from gets records again.
	Open(ctx context.Context, from uint64) (lastDurable uint64, err error)
	// Write takes records, in order and without gaps, and returns the highest sequence up to which all are
	// durable: written and synced, or acknowledged by the service behind. It may be lower than the last of the
	// batch: the appliance then calls Flush, and a sink may use that to wait for more. Records that the sink has
	// already are taken again without being kept twice, or without harm: the eventId in a record is its identity, and
	// the same sequence may come again with another content after the appliance was restored from an older dump. With
	// an error, lastDurable still counts; with the code REJECTED the record behind it is passed over.
	Write(ctx context.Context, batch []Record) (lastDurable uint64, err error)
	// Flush makes durable what was written, and returns up to where.
	Flush(ctx context.Context) (lastDurable uint64, err error)
}

// Record is one audit record.
type Record struct {
	Sequence uint64 // rises by one
	Time     time.Time
	JSON     []byte // canonical, hash chain included, without a line break: what a sink keeps is this, to the byte
}

// Unimplemented is a Sink that keeps nothing, and says so. Embed it to stay a Sink when the interface grows.
type Unimplemented struct{}

var _ Sink = Unimplemented{}

// Open returns UNIMPLEMENTED.
func (Unimplemented) Open(context.Context, uint64) (uint64, error) {
	return 0, Errorf(CodeUnimplemented, "this sink has no Open")
}

// Write returns UNIMPLEMENTED.
func (Unimplemented) Write(context.Context, []Record) (uint64, error) {
	return 0, Errorf(CodeUnimplemented, "this sink has no Write")
}

// Flush returns UNIMPLEMENTED.
func (Unimplemented) Flush(context.Context) (uint64, error) {
	return 0, Errorf(CodeUnimplemented, "this sink has no Flush")
}

// CheckGaps returns INVALID_ARGUMENT for a batch that is out of order or has gaps.
func CheckGaps(batch []Record) error {
	for i := 1; i < len(batch); i++ {
		if batch[i].Sequence != batch[i-1].Sequence+1 {
			return Errorf(CodeInvalidArgument, "record %d follows record %d: a batch has no gaps", batch[i].Sequence, batch[i-1].Sequence)
		}
	}
	return nil
}
