package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// executionFacts are what lists select executions by beside pattern and status, and what rows tell of it. They are part
// of the state of an execution, so that a change of any of them writes its row anew.
type executionFacts struct {
	batch, createdBy string
	errorCode        core.Code
	priority         core.Priority
	waiting          core.WaitReason
	metadata         []core.MetadataPair // sorted by key
	endedAs          core.ExecutionStatus
	ended            int64 // Unix milliseconds; 0: it is not over
}

func factsOf(e *core.Execution) executionFacts {
	f := executionFacts{
		batch: e.BatchID, createdBy: e.CreatedBy, priority: e.Options.Priority, metadata: core.IndexedMetadata(e.Options.Metadata),
	}
	if e.Error != nil {
		f.errorCode = e.Error.Code
	}
	if e.Waiting != nil {
		f.waiting = e.Waiting.For
	}
	if e.Status.Terminal() {
		if at := cmp.Or(e.CompletedAt, e.CancelledAt); at != nil {
			f.endedAs, f.ended = e.Status, max(at.UnixMilli(), 0)
		}
	}
	return f
}

func (f *executionFacts) equal(o *executionFacts) bool {
	return f.batch == o.batch && f.createdBy == o.createdBy && f.errorCode == o.errorCode && f.priority == o.priority &&
		f.waiting == o.waiting && f.endedAs == o.endedAs && f.ended == o.ended && slices.Equal(f.metadata, o.metadata)
}

// indexed reports whether a value of a fact is in an index.
func indexed(value string) bool { return value != "" && len(value) <= core.MaxIndexedBytes }

// singleFacts is how many facts have one value.
const singleFacts = 3

// singles returns the facts that have one value, with the prefixes of their indexes.
func (f *executionFacts) singles() [singleFacts]struct{ prefix, value string } {
	return [singleFacts]struct{ prefix, value string }{
		{prefixByBatch, f.batch}, {prefixByCreator, f.createdBy}, {prefixByError, string(f.errorCode)},
	}
}

// lists returns the prefixes of the indexes in which an execution with these facts is.
func (f *executionFacts) lists() (prefixes [][]byte) {
	for _, fact := range f.singles() {
		if indexed(fact.value) {
			prefixes = append(prefixes, appendEscaped([]byte(fact.prefix), fact.value))
		}
	}
	for _, pair := range f.metadata {
		prefixes = append(prefixes, appendMetadataIndex(nil, pair))
	}
	if f.ended != 0 {
		prefixes = append(prefixes, appendEndIndex(nil, f.endedAs, f.ended))
	}
	return prefixes
}

// appendEndIndex makes the prefix of the executions that ended with a status in a millisecond.
func appendEndIndex(dst []byte, status core.ExecutionStatus, ms int64) []byte {
	return appendEscaped(appendEscaped(append(dst, prefixByEnd...), string(status)), endText(ms))
}

// endText is a time of an index, in Unix milliseconds, so that texts sort as times do.
func endText(ms int64) string { return fmt.Sprintf("%016x", max(ms, 0)) }

func appendMetadataIndex(dst []byte, pair core.MetadataPair) []byte {
	return appendEscaped(appendEscaped(append(dst, prefixByMetadata...), pair.Key), pair.Value)
}

// moveFacts moves an execution from the lists of its former facts to those of its new ones. One that does not exist has
// none.
func (t *tx) moveFacts(id string, old, fresh *executionFacts) error {
	was, is := old.singles(), fresh.singles()
	for i := range singleFacts {
		if was[i].value == is[i].value {
			continue
		}
		key := func(value string) []byte {
			return t.take(func(b []byte) []byte { return append(appendEscaped(append(b, is[i].prefix...), value), id...) })
		}
		if indexed(was[i].value) {
			t.delete(key(was[i].value))
		}
		if indexed(is[i].value) {
			if err := t.set(key(is[i].value), nil); err != nil {
				return err
			}
		}
	}
	if old.endedAs != fresh.endedAs || old.ended != fresh.ended {
		key := func(f *executionFacts) []byte {
			return t.take(func(b []byte) []byte { return append(appendEndIndex(b, f.endedAs, f.ended), id...) })
		}
		if old.ended != 0 {
			t.delete(key(old))
		}
		if fresh.ended != 0 {
			if err := t.set(key(fresh), nil); err != nil {
				return err
			}
		}
	}
	key := func(pair core.MetadataPair) []byte {
		return t.take(func(b []byte) []byte { return append(appendMetadataIndex(b, pair), id...) })
	}
	for _, pair := range old.metadata {
		if !slices.Contains(fresh.metadata, pair) {
			t.delete(key(pair))
		}
	}
	for _, pair := range fresh.metadata {
		if slices.Contains(old.metadata, pair) {
			continue
		}
		if err := t.set(key(pair), nil); err != nil {
			return err
		}
	}
	return nil
}
