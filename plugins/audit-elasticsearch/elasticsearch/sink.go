// Package elasticsearch is an audit sink over the bulk interface of Elasticsearch and OpenSearch. Records go to a data
// stream, whose index template it makes if there is none.
//
// A document has the record twice: as text in event.original, byte for byte, so that it can be verified, and as an object
// in wardroom, to search by. Its id is the eventId of the record, so that one that comes again is recognised. It owns no
// retention: that is a policy of the data stream.
package elasticsearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/remote"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// maxBody bounds a bulk request; servers take 100 MB, and recommend much less. A proxy before them may take less still.
const maxBody = 4 << 20

const schema = `{
	"type": "object",
	"additionalProperties": false,
	"required": ["hosts"],
	"properties": {
		"hosts": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^https?://"}, "description": "Addresses; the next one is used where one does not answer."},
		"index": {"type": "string", "default": "wardroom-audit", "pattern": "^[a-z0-9][a-z0-9._-]*$", "description": "Data stream that records go to."},
		"username": {"type": "string"},
		"password": {"type": "string"},
		"caFile": {"type": "string", "description": "PEM file of the authorities of the servers' certificates."},
		"template": {"type": "boolean", "default": true, "description": "Make the index template of the data stream if there is none."}
	}
}`

type config struct {
	Hosts                             []string
	Index, Username, Password, CAFile string
	Template                          *bool
}

// Definition is the plugin.
func Definition(version string) plugin.Definition {
	return plugin.Definition{
		Name: "audit-elasticsearch", Version: version, Kind: plugin.KindAudit, Schema: []byte(schema),
		Examples: []json.RawMessage{json.RawMessage(`{"hosts": ["https://search.example.com:9200"], "username": "wardroom", "password": "secret"}`)},
		Configure: func(_ context.Context, raw json.RawMessage, _ plugin.Host) (plugin.Service, error) {
			s, err := open(raw)
			if err != nil {
				return plugin.Service{}, err
			}
			return plugin.Service{Audit: s, Close: func(context.Context) error { s.client.Close(); return nil }}, nil
		},
	}
}

// sink sends documents.
type sink struct {
	client *remote.Client
	config config
	header http.Header

	mu   sync.Mutex // guards below; one call at a time
	host int        // that answered last
	body int        // bytes that go into one request; less than maxBody once one was refused as too large since Open
	last uint64
}

var _ audit.Sink = (*sink)(nil)

func open(raw json.RawMessage) (*sink, error) {
	c := config{Index: "wardroom-audit"}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, audit.Errorf(audit.CodeInvalidArgument, "the settings are not of the form that the schema shows")
	}
	client, err := remote.New(remote.Options{CAFile: c.CAFile})
	if err != nil {
		return nil, err
	}
	s := &sink{client: client, config: c, header: http.Header{}}
	if c.Username != "" {
		s.header["Authorization"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))}
	}
	return s, nil
}

// do sends a request to the host that answered last, or to the next one that does. mu is held.
func (s *sink) do(ctx context.Context, method, path, kind string, body []byte) (a remote.Answer, err error) {
	header := s.header.Clone()
	if body != nil {
		header["Content-Type"] = []string{kind}
	}
	for range s.config.Hosts {
		host := strings.TrimRight(s.config.Hosts[s.host%len(s.config.Hosts)], "/")
		if a, err = s.client.Do(ctx, method, host+path, header, body); err == nil && a.Status != http.StatusBadGateway && a.Status != http.StatusServiceUnavailable {
			return a, nil
		}
		if ctx.Err() != nil {
			break
		}
		s.host++
	}
	return a, err
}

// template is the index template. Details are kept as they are, and not indexed: each action has others.
const template = `{
	"index_patterns": [%INDEX%], "priority": 300, "data_stream": {},
	"template": {"mappings": {"dynamic": false, "properties": {
		"@timestamp": {"type": "date"},
		"event": {"properties": {"original": {"type": "keyword", "index": false, "doc_values": false}}},
		"wardroom": {"dynamic": false, "properties": {
			"sequence": {"type": "long"}, "eventId": {"type": "keyword"}, "timestamp": {"type": "date"}, "category": {"type": "keyword"},
			"action": {"type": "keyword"}, "outcome": {"type": "keyword"},
			"actor": {"properties": {"type": {"type": "keyword"}, "id": {"type": "keyword", "ignore_above": 1024}, "ip": {"type": "keyword"}, "userAgent": {"type": "keyword", "ignore_above": 1024}}},
			"resource": {"properties": {"type": {"type": "keyword"}, "id": {"type": "keyword", "ignore_above": 1024}, "version": {"type": "keyword"}}},
			"request": {"properties": {"method": {"type": "keyword"}, "path": {"type": "keyword", "ignore_above": 1024}, "requestId": {"type": "keyword"}}},
			"details": {"type": "object", "enabled": false}, "previousHash": {"type": "keyword"}, "hash": {"type": "keyword"}
		}}
	}}}
}`

// Open implements audit.Sink: it makes the index template.
func (s *sink) Open(ctx context.Context, from uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.body = from-1, maxBody
	if s.config.Template != nil && !*s.config.Template {
		return 0, nil
	}
	path := "/_index_template/" + url.PathEscape(s.config.Index)
	a, err := s.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return 0, err
	}
	switch a.Status {
	case http.StatusOK:
		return 0, nil
	case http.StatusNotFound:
	default:
		return 0, refusal(a)
	}
	name, err := json.Marshal(s.config.Index)
	if err != nil {
		return 0, err
	}
	a, err = s.do(ctx, http.MethodPut, path, "application/json", []byte(strings.Replace(template, "%INDEX%", string(name), 1)))
	if err != nil {
		return 0, err
	}
	if a.Status != http.StatusOK {
		return 0, refusal(a)
	}
	return 0, nil
}

// document is what is stored of a record.
type document struct {
	Timestamp string          `json:"@timestamp"`
	Event     original        `json:"event"`
	Wardroom  json.RawMessage `json:"wardroom,omitempty"`
}

type original struct {
	Original string `json:"original"`
}

// item is the server's result for one document.
type item struct {
	Status int `json:"status"`
	Error  struct {
		Type  string `json:"type"`
		Cause struct {
			Type string `json:"type"`
		} `json:"caused_by"`
	} `json:"error"`
}

// ofDocument reports whether the document itself may be the reason of a refusal.
func (it item) ofDocument() bool {
	return it.ofContent() || it.Status == http.StatusRequestEntityTooLarge
}

// ofContent is ofDocument but for its size. Statuses other than 400 are of something before the server then, which names no error.
func (it item) ofContent() bool {
	return it.Status == http.StatusBadRequest || it.Error.Type == "" && remote.OfContent(it.Status)
}

// unfit reports whether the document itself, of a record, is refused, for good. The status 400 is also that of an unusable data stream or
// cluster, such as a closed index or too many shards.
func (it item) unfit(r audit.Record) bool {
	switch it.Status {
	case http.StatusBadRequest:
	case http.StatusRequestEntityTooLarge:
		return !remote.Small(r)
	default:
		return false
	}
	switch it.Error.Type {
	case "mapper_parsing_exception", "document_parsing_exception", "strict_dynamic_mapping_exception", "x_content_parse_exception":
		return true
	}
	return it.Error.Cause.Type == "max_bytes_length_exceeded_exception"
}

// Write implements audit.Sink.
func (s *sink) Write(ctx context.Context, batch []audit.Record) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := audit.CheckGaps(batch); err != nil {
		return 0, err
	}
	all, most := batch, len(batch)
	for len(batch) > 0 {
		n := s.fitting(batch[:min(len(batch), most)])
		items, err := s.bulk(ctx, batch[:n], true)
		switch {
		case errors.Is(err, errTooLarge):
			s.body = size(batch[:n]) / 2
			continue
		case errors.Is(err, errWhole):
			most = n / 2
			continue
		case err != nil:
			return s.last, err
		}
		for i := range items {
			others := func() bool { return anyKept(items[i+1:]) || s.takes(ctx, all, len(all)-len(batch)+i) }
			if err := s.settle(ctx, batch[i], items[i], others); err != nil {
				return s.last, err
			}
			s.last = batch[i].Sequence
		}
		batch = batch[n:]
	}
	return s.last, nil
}

// settle looks at what became of a document; others reports whether other ones are taken. mu is held.
func (s *sink) settle(ctx context.Context, r audit.Record, it item, others func() bool) error {
	if kept(it.Status) {
		return nil
	}
	object := true
	if it.ofDocument() { // as an object it does not fit: as text it may, which is also half as long
		items, err := s.bulk(ctx, []audit.Record{r}, false)
		if err != nil {
			return err
		}
		it, object = items[0], false
	}
	blame := it.unfit(r)
	var doubt remote.Doubt
	for again := true; !blame && again && !kept(it.Status) && it.ofContent(); {
		if again, blame = doubt.Again(r.Sequence, others); again {
			items, err := s.bulk(ctx, []audit.Record{r}, object)
			if err != nil {
				return err
			}
			it, blame = items[0], false
		}
	}
	if kept(it.Status) {
		return nil
	}
	if blame {
		s.last = r.Sequence - 1
		return remote.Rejection(it.Status, it.Error.Type)
	}
	e := remote.Refusal(it.Status, it.Error.Type)
	e.Hint = cmp.Or(e.Hint, "check the data stream and its index template, and that the cluster may make shards")
	return e
}

// takes reports whether a record other than the one at an index is taken now, which shows that it is not everything that is refused:
// one of some behind it, ever further away since those next to it may be refused too, or the one before. Each has its id, and is not
// kept twice. mu is held.
func (s *sink) takes(ctx context.Context, batch []audit.Record, at int) bool {
	try := func(i int) bool {
		items, err := s.bulk(ctx, batch[i:i+1], true)
		return err == nil && anyKept(items)
	}
	for far := 1; at+far < len(batch) && ctx.Err() == nil; far *= 2 {
		if try(at + far) {
			return true
		}
	}
	return at > 0 && try(at-1)
}

// anyKept reports whether one of some documents is there.
func anyKept(items []item) bool {
	return slices.ContainsFunc(items, func(it item) bool { return kept(it.Status) })
}

// kept reports whether a document is there: it was made, or it was there before.
func kept(status int) bool { return status >= 200 && status < 300 || status == http.StatusConflict }

// fitting is how many records go into one request. mu is held.
func (s *sink) fitting(batch []audit.Record) int {
	total := 0
	for i := range batch {
		if total += size(batch[i : i+1]); total > s.body && i > 0 {
			return i
		}
	}
	return len(batch)
}

// size is about how many bytes a request of records has.
func size(batch []audit.Record) (bytes int) {
	for _, r := range batch {
		bytes += 2*len(r.JSON) + 256
	}
	return bytes
}

// errTooLarge is the refusal of a request whose body is larger than the server, or a proxy before it, takes.
var errTooLarge = remote.Refusal(http.StatusRequestEntityTooLarge, "")

// errWhole is the refusal of a request with several documents, which leaves open whether one of them is the reason.
var errWhole = remote.Refusal(http.StatusBadRequest, "") // whatever its status is

// bulk sends documents, with the record as an object or without. A request with a single one that is refused is the refusal of that
// one. mu is held.
func (s *sink) bulk(ctx context.Context, batch []audit.Record, object bool) ([]item, error) {
	var body bytes.Buffer
	out := json.NewEncoder(&body) // which ends each value with a line break
	out.SetEscapeHTML(false)
	for _, r := range batch {
		var id struct {
			EventID string `json:"eventId"`
		}
		_ = json.Unmarshal(r.JSON, &id) // without one, the server gives the document an id
		action := map[string]string{"_index": s.config.Index}
		if id.EventID != "" {
			action["_id"] = id.EventID
		}
		d := document{Timestamp: r.Time.UTC().Format(time.RFC3339Nano), Event: original{string(r.JSON)}}
		if object && json.Valid(r.JSON) {
			d.Wardroom = r.JSON
		}
		if err := out.Encode(map[string]any{"create": action}); err != nil {
			return nil, err
		}
		if err := out.Encode(d); err != nil {
			return nil, err
		}
	}
	a, err := s.do(ctx, http.MethodPost, "/_bulk", "application/x-ndjson", body.Bytes())
	if err != nil {
		return nil, err
	}
	whole := item{Status: a.Status}
	whole.Error.Type = typeOf(a)
	switch {
	case a.Status == http.StatusOK:
	case !whole.ofDocument():
		return nil, refusal(a)
	case len(batch) == 1:
		return []item{whole}, nil
	case a.Status == http.StatusRequestEntityTooLarge:
		return nil, errTooLarge
	default:
		return nil, errWhole
	}
	var said struct {
		Items []struct {
			Create *item `json:"create"`
		} `json:"items"`
	}
	if json.Unmarshal(a.Body, &said) != nil || len(said.Items) != len(batch) {
		return nil, audit.Errorf(audit.CodeUnavailable, "the server answers with something else")
	}
	items := make([]item, len(batch))
	for i := range said.Items {
		if said.Items[i].Create == nil {
			return nil, audit.Errorf(audit.CodeUnavailable, "the server answers with something else")
		}
		items[i] = *said.Items[i].Create
	}
	return items, nil
}

// Flush implements audit.Sink: a document that was taken is in the log of its shards.
func (s *sink) Flush(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, nil
}

// refusal words an answer. Of the text of the server only the type of the error is repeated: the rest may quote a document.
func refusal(a remote.Answer) *audit.Error { return remote.Refusal(a.Status, typeOf(a)) }

// typeOf returns the type of the error in an answer, or "".
func typeOf(a remote.Answer) string {
	var said struct {
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	_ = json.Unmarshal(a.Body, &said) // else there is no reason
	return said.Error.Type
}
