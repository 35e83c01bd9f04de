package core

import (
	"encoding/json"
	"maps"
	"slices"
)

// Bounds of what lists select executions by beside pattern, status and time. What is longer is kept, but not in an index.
const (
	MaxIndexedMetadata = 32  // pairs of an execution; of more, the first ones in order of their keys
	MaxIndexedBytes    = 256 // of a key, a value, a name
)

// Keys of the metadata by which a run says what started it. Callers do not set them.
const (
	KeySchedule = "scheduleId"
	KeyTrigger  = "triggerId"
)

// WithoutOrigin takes out of the metadata that a caller sends what says which schedule or trigger started the run.
func WithoutOrigin(m map[string]any) {
	delete(m, KeySchedule)
	delete(m, KeyTrigger)
}

// MetadataPair is a key of an execution's metadata with its value as text.
type MetadataPair struct{ Key, Value string }

// IndexedMetadata returns what lists select an execution by, sorted by key: texts, numbers as they were written, and
// booleans.
func IndexedMetadata(m Metadata) []MetadataPair {
	if len(m) == 0 {
		return nil
	}
	var pairs []MetadataPair
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if len(pairs) == MaxIndexedMetadata {
			break
		}
		value, ok := indexedText(m[key])
		if ok && key != "" && len(key) <= MaxIndexedBytes && len(value) <= MaxIndexedBytes {
			pairs = append(pairs, MetadataPair{key, value})
		}
	}
	return pairs
}

func indexedText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return string(v), true
	case bool, float64, int, int64:
		raw, err := json.Marshal(v)
		return string(raw), err == nil
	}
	return "", false
}
