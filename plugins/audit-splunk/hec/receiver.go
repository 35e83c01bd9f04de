// Package hec is a receiver of Splunk's HTTP Event Collector for tests, written from its public documentation. It
// refuses what the real one refuses, with its texts and codes, and fails on demand. It owns no index: it keeps the events.
package hec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/sdk/plugintest"
)

// Token is the one that the receiver takes.
const Token = "11111111-2222-3333-4444-555555555555"

// maxContent is the size of a request that collectors take by default.
const maxContent = 1_000_000

// texts are those of codes with the status 400.
var texts = map[int]string{
	5: "No data", 6: "Invalid data format", 7: "Incorrect index", 10: "Data channel is missing", 11: "Invalid data channel",
	12: "Event field is required", 13: "Event field cannot be blank", 14: "ACK is disabled", 15: "Error in handling indexed fields",
}

// Receiver is a running collector. Its fields may be changed with Change.
type Receiver struct {
	server *httptest.Server

	mu      sync.Mutex // guards all below
	events  []json.RawMessage
	seen    map[string]bool
	acks    int64
	asked   map[int64]int // times that an acknowledgement was asked for
	held    map[int64]int // events that there were when an acknowledgement was begun
	durable int           // events that outlive Restart: those of the acknowledgements that were given

	Busy    bool                    // 503, as while its queues are full
	NoAck   bool                    // the token has no acknowledgement
	Largest int                     // bytes of the largest request that is taken; 0: those of maxContent
	Silent  bool                    // acknowledgements never come
	Refuses func(event []byte) bool // events that it calls invalid
	Whole   string                  // answer to a request with an invalid event, instead of one with its number
	Taken   int                     // requests with events that were taken
	Cut     int                     // requests with events that are taken next, and not answered
	Code    int                     // 400 with this code for whatever is sent; 0: none
	Blocks  func(body []byte) int   // status that a firewall before it answers with; 0: it lets the request through
}

// Start runs one until the end of the test.
func Start(tb testing.TB) *Receiver {
	r := &Receiver{seen: map[string]bool{}, asked: map[int64]int{}, held: map[int64]int{}}
	r.server = httptest.NewServer(r)
	tb.Cleanup(r.server.Close)
	return r
}

// Addr returns host:port.
func (r *Receiver) Addr() string { return r.server.Listener.Addr().String() }

// Restart has the collector lose what it has not acknowledged, as when it crashes, and count its acknowledgements anew.
func (r *Receiver) Restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acks, r.asked, r.held = 0, map[int64]int{}, map[int64]int{}
	for _, e := range r.events[r.durable:] {
		delete(r.seen, string(e))
	}
	r.events = r.events[:r.durable]
}

// Change lets fn change the fields.
func (r *Receiver) Change(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
}

// Events returns what was indexed, each event once, in the order of arrival.
func (r *Receiver) Events() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list [][]byte
	for _, e := range r.events {
		list = append(list, e)
	}
	return list
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	say := func(status, code int, text string, more map[string]any) {
		body := map[string]any{"text": text, "code": code}
		maps.Copy(body, more)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	if r.Busy {
		say(503, 9, "Server is busy", nil)
		return
	}
	if req.URL.Path == "/services/collector/health" {
		say(200, 17, "HEC is healthy", nil)
		return
	}
	auth := req.Header.Get("Authorization")
	switch {
	case auth == "":
		say(401, 2, "Token is required", nil)
		return
	case !strings.HasPrefix(auth, "Splunk "):
		say(401, 3, "Invalid authorization", nil)
		return
	case auth != "Splunk "+Token:
		say(403, 4, "Invalid token", nil)
		return
	}
	channel := req.Header.Get("X-Splunk-Request-Channel")
	if channel == "" && !r.NoAck {
		say(400, 10, texts[10], nil)
		return
	}
	largest := cmp.Or(r.Largest, maxContent)
	body, err := io.ReadAll(io.LimitReader(req.Body, int64(largest)+1))
	if err != nil || len(body) > largest {
		say(413, 27, "Request entity too large", nil)
		return
	}
	if r.Blocks != nil && plugintest.Blocked(w, r.Blocks(body)) {
		return
	}
	if r.Code != 0 {
		say(400, r.Code, texts[r.Code], map[string]any{"invalid-event-number": 0})
		return
	}
	switch req.URL.Path {
	case "/services/collector/event":
		r.take(body, w, say)
	case "/services/collector/ack":
		r.answerAcks(body, w, say)
	default:
		say(404, 404, "The requested URL was not found on this server.", nil)
	}
}

// take indexes events. Each is an object with event; they stand one after the other.
func (r *Receiver) take(body []byte, w http.ResponseWriter, say func(int, int, string, map[string]any)) {
	if len(bytes.TrimSpace(body)) == 0 {
		say(400, 5, texts[5], nil)
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	var batch []json.RawMessage
	for n := 0; decoder.More(); n++ {
		at := map[string]any{"invalid-event-number": n}
		var e map[string]json.RawMessage
		if err := decoder.Decode(&e); err != nil {
			say(400, 6, texts[6], at)
			return
		}
		switch event, ok := e["event"]; {
		case !ok:
			say(400, 12, texts[12], at)
			return
		case string(event) == `""` || string(event) == "null":
			say(400, 13, texts[13], at)
			return
		case r.Refuses != nil && r.Refuses(event):
			if r.Whole != "" {
				w.WriteHeader(400)
				_, _ = io.WriteString(w, r.Whole)
				return
			}
			say(400, 6, texts[6], at)
			return
		default:
			batch = append(batch, event)
		}
	}
	r.Taken++
	for _, e := range batch {
		if !r.seen[string(e)] {
			r.seen[string(e)] = true
			r.events = append(r.events, e)
		}
	}
	if r.NoAck {
		say(200, 0, "Success", nil)
		return
	}
	r.held[r.acks] = len(r.events)
	r.acks++
	if r.Cut > 0 {
		r.Cut--
		panic(http.ErrAbortHandler)
	}
	say(200, 0, "Success", map[string]any{"ackId": r.acks - 1})
}

// answerAcks says which batches are indexed: not at the first time of asking.
func (r *Receiver) answerAcks(body []byte, w http.ResponseWriter, say func(int, int, string, map[string]any)) {
	var ask struct {
		Acks []int64 `json:"acks"`
	}
	if r.NoAck {
		say(400, 14, texts[14], nil)
		return
	}
	if json.Unmarshal(body, &ask) != nil {
		say(400, 6, texts[6], nil)
		return
	}
	acks := map[string]bool{}
	for _, id := range ask.Acks {
		r.asked[id]++
		given := !r.Silent && id < r.acks && r.asked[id] > 1
		if acks[strconv.FormatInt(id, 10)] = given; given {
			r.durable = max(r.durable, r.held[id])
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"acks": acks})
}
