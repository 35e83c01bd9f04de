package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	charregexp "github.com/blevesearch/bleve/v2/analysis/char/regexp"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	indexapi "github.com/blevesearch/bleve_index_api"

	"github.com/wardroom/wardroom/core"
)

// indexVersion says what the index holds and how. An index of another version is built anew.
const indexVersion = "1"

// Keys of what the index knows of itself.
var (
	versionKey   = []byte("wardroom.version")
	watermarkKey = []byte("wardroom.watermark")
)

// analyzerName is the analyzer of texts.
const analyzerName = "text"

// index is the full-text index. Searches may run beside each other and beside one writer.
type index struct {
	bleve    bleve.Index
	inner    indexapi.Index
	analyzer analysis.Analyzer
}

// detailsField is the field of a document with the text of details.
const detailsField = "details"

// texts are the fields of a document that are searched, with their weights.
var texts = map[string]float64{"objective": 3, "summary": 2, "about": 1, detailsField: 0.5}

// textNames are the keys of texts, in a fixed order.
var textNames = slices.Sorted(maps.Keys(texts))

// newMapping describes the documents. Nothing is kept of them but what searches need: the store has them whole.
func newMapping() (*mapping.IndexMappingImpl, error) {
	m := bleve.NewIndexMapping()
	m.ScoringModel = indexapi.BM25Scoring
	m.StoreDynamic, m.IndexDynamic, m.DocValuesDynamic = false, false, false
	// File names and identifiers fall into their words.
	if err := m.AddCustomCharFilter("parts", map[string]any{
		"type": charregexp.Name, "regexp": `[._/:\\-]+`, "replace": " ",
	}); err != nil {
		return nil, err
	}
	if err := m.AddCustomAnalyzer(analyzerName, map[string]any{
		"type": custom.Name, "char_filters": []string{"parts"}, "tokenizer": unicode.Name,
		"token_filters": []string{en.PossessiveName, lowercase.Name, en.StopName, porter.Name},
	}); err != nil {
		return nil, err
	}
	m.DefaultAnalyzer = analyzerName
	doc := bleve.NewDocumentStaticMapping()
	field := func(name, analyzer string) {
		f := bleve.NewTextFieldMapping()
		f.Analyzer, f.Store, f.IncludeTermVectors, f.IncludeInAll, f.DocValues = analyzer, false, false, false, false
		doc.AddFieldMappingsAt(name, f)
	}
	for name := range texts {
		field(name, analyzerName)
	}
	for _, name := range []string{"repo", "role", "outcome", "execution"} {
		field(name, keyword.Name)
	}
	m.DefaultMapping = doc
	return m, nil
}

// wrap makes an index usable.
func wrap(b bleve.Index, m *mapping.IndexMappingImpl) (*index, error) {
	inner, err := b.Advanced()
	if err != nil {
		return nil, err
	}
	return &index{bleve: b, inner: inner, analyzer: m.AnalyzerNamed(analyzerName)}, nil
}

// settings of the index. A batch is visible at once and becomes durable a little later; what a crash takes is known by
// the watermark, which is part of each batch.
func settings() map[string]any {
	return map[string]any{
		"unsafe_batch": true, "bolt_timeout": "5s",
		"scorchPersisterOptions": map[string]any{"PersisterNapTimeMSec": 50},
	}
}

// create makes an empty index; "" is one in memory.
func create(path string) (x *index, err error) {
	defer survive(&err)
	m, err := newMapping()
	if err != nil {
		return nil, err
	}
	b, err := bleve.NewUsing(path, m, scorch.Name, scorch.Name, settings())
	if err != nil {
		return nil, err
	}
	if err := b.SetInternal(versionKey, []byte(indexVersion)); err != nil {
		_ = b.Close()
		return nil, err
	}
	return wrap(b, m)
}

// load opens an index that is there. Any error means that it is to be built anew.
func load(path string) (x *index, err error) {
	defer survive(&err)
	if err := verify(path); err != nil {
		return nil, err
	}
	b, err := bleve.OpenUsing(path, settings())
	if err != nil {
		return nil, err
	}
	version, err := b.GetInternal(versionKey)
	if err == nil && string(version) != indexVersion {
		err = fmt.Errorf("has version %q, not %q", version, indexVersion)
	}
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	m, err := newMapping()
	if err != nil {
		return nil, err
	}
	return wrap(b, m)
}

// survive turns a panic of the library, which reads its files as if they could not be damaged, into an error.
func survive(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the index is damaged: %v", r)
	}
}

// put adds or replaces experiences, and notes the highest id that the index has.
func (x *index) put(list []*core.Experience, remove []string) (err error) {
	defer survive(&err)
	mark, err := x.watermark()
	if err != nil {
		return err
	}
	b := x.bleve.NewBatch()
	for _, e := range list {
		if err := b.Index(e.ID, document(e)); err != nil {
			return err
		}
		mark = max(mark, e.ID)
	}
	for _, id := range remove {
		b.Delete(id)
	}
	b.SetInternal(watermarkKey, []byte(mark))
	return x.bleve.Batch(b)
}

// watermark is the highest id that was put; "" before the first.
func (x *index) watermark() (string, error) {
	mark, err := x.bleve.GetInternal(watermarkKey)
	return string(mark), err
}

// count is how many experiences the index has.
func (x *index) count() (n uint64, err error) {
	defer survive(&err)
	return x.bleve.DocCount()
}

// lacks returns those of some experiences that the index does not have.
func (x *index) lacks(list []*core.Experience) (missing []*core.Experience, err error) {
	defer survive(&err)
	reader, err := x.inner.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for _, e := range list {
		internal, err := reader.InternalID(e.ID)
		if err != nil {
			return nil, err
		}
		if internal == nil {
			missing = append(missing, e)
		}
	}
	return missing, nil
}

// all returns the id of every experience that the index has.
func (x *index) all(ctx context.Context) (ids map[string]bool, err error) {
	defer survive(&err)
	reader, err := x.inner.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	docs, err := reader.DocIDReaderAll()
	if err != nil {
		return nil, err
	}
	defer docs.Close()
	ids = make(map[string]bool)
	for {
		internal, err := docs.Next()
		if err != nil || internal == nil {
			return ids, err
		}
		id, err := reader.ExternalID(internal)
		if err != nil {
			return nil, err
		}
		ids[id] = true
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// close waits until the library is not writing: closed in the middle of that, it reads a map that it is changing, and
// loses what it had not written, which is then indexed again.
func (x *index) close() (err error) {
	defer survive(&err)
	x.settle()
	return x.bleve.Close()
}

// How long close waits for the library, and how often it looks. This is real time: its goroutines know no other.
const (
	settleLimit = 2 * time.Second
	settleLook  = 5 * time.Millisecond
)

// settle waits until all that was indexed is on disk, or the limit is over. An index in memory writes nothing.
func (x *index) settle() {
	if x.bleve.Name() == "" {
		return
	}
	source, ok := x.inner.(interface{ StatsMap() map[string]any })
	if !ok {
		return
	}
	look := time.NewTicker(settleLook)
	defer look.Stop()
	for range int(settleLimit / settleLook) {
		stats := source.StatsMap()
		if stats == nil || stats["CurRootEpoch"] == stats["LastPersistedEpoch"] {
			return
		}
		<-look.C
	}
}
