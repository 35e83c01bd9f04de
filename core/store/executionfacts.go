package store

import (
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
	return f
}

func (f *executionFacts) equal(o *executionFacts) bool {
	return f.batch == o.batch && f.createdBy == o.createdBy && f.errorCode == o.errorCode && f.priority == o.priority &&
		f.waiting == o.waiting && slices.Equal(f.metadata, o.metadata)
}

// indexed reports whether a value of a fact is in an index.
func indexed(value string) bool { return value != "" && len(value) <= core.MaxIndexedBytes }

// lists returns the prefixes of the indexes in which an execution with these facts is.
func (f *executionFacts) lists() (prefixes [][]byte) {
	for _, fact := range []struct{ prefix, value string }{
		{prefixByBatch, f.batch}, {prefixByCreator, f.createdBy}, {prefixByError, string(f.errorCode)},
	} {
		if indexed(fact.value) {
			prefixes = append(prefixes, appendEscaped([]byte(fact.prefix), fact.value))
		}
	}
	for _, pair := range f.metadata {
		prefixes = append(prefixes, appendMetadataIndex(nil, pair))
	}
	return prefixes
}

func appendMetadataIndex(dst []byte, pair core.MetadataPair) []byte {
	return appendEscaped(appendEscaped(append(dst, prefixByMetadata...), pair.Key), pair.Value)
}

// moveFacts moves an execution from the lists of its former facts to those of its new ones.
func (t *tx) moveFacts(id string, old, fresh execState) error {
	var was, is [][]byte
	if old.exists() {
		was = old.facts.lists()
	}
	if fresh.exists() {
		is = fresh.facts.lists()
	}
	for _, prefix := range was {
		if !slices.ContainsFunc(is, func(p []byte) bool { return string(p) == string(prefix) }) {
			t.delete(append(prefix, id...))
		}
	}
	for _, prefix := range is {
		if slices.ContainsFunc(was, func(p []byte) bool { return string(p) == string(prefix) }) {
			continue
		}
		if err := t.set(append(prefix, id...), nil); err != nil {
			return err
		}
	}
	return nil
}
