package cloudwatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/plugintest"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// service is the part of the service that the sink uses, written from its public documentation. It refuses what the real
// one refuses.
type service struct {
	t      *testing.T
	server *httptest.Server

	mu      sync.Mutex // guards all below
	streams map[string]bool
	events  []inputEvent
	calls   int
	fail    string                // type of the error of the next call
	refuse  string                // text of events that are refused
	keeps   time.Duration         // retention of the group; 0: for ever
	signed  func() time.Time      // of requests; nil: now
	largest int                   // bytes of the largest request that a proxy lets through; 0: any
	blocks  func(body []byte) int // status that a firewall before it answers with; 0: it lets the request through
}

func newService(t *testing.T) *service {
	s := &service{t: t, streams: map[string]bool{}}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	refuse := func(kind string) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"__type":"com.amazonaws.logs#%s","message":"a text"}`, kind)
	}
	body, _ := io.ReadAll(r.Body)
	if s.largest > 0 && len(body) > s.largest {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if s.blocks != nil && plugintest.Blocked(w, s.blocks(body)) {
		return
	}
	if s.fail != "" {
		refuse(s.fail)
		s.fail = ""
		return
	}
	want := http.Header{"Content-Type": r.Header["Content-Type"], "X-Amz-Target": r.Header["X-Amz-Target"]}
	c := credentials{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	if err := c.sign(want, s.server.URL, "eu-central-1", "logs", body, s.signedAt()); err != nil || want.Get("Authorization") != r.Header.Get("Authorization") {
		refuse("InvalidSignatureException")
		return
	}
	var in struct {
		LogGroupName, LogStreamName string
		LogEvents                   []inputEvent
	}
	if json.Unmarshal(body, &in) != nil {
		refuse("SerializationException")
		return
	}
	switch operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "Logs_20140328."); {
	case in.LogGroupName != "wardroom":
		refuse("ResourceNotFoundException")
	case operation == "CreateLogStream" && s.streams[in.LogStreamName]:
		refuse("ResourceAlreadyExistsException")
	case operation == "CreateLogStream":
		s.streams[in.LogStreamName] = true
	case operation == "PutLogEvents" && !s.streams[in.LogStreamName]:
		refuse("ResourceNotFoundException")
	case operation == "PutLogEvents":
		s.put(w, in.LogEvents, refuse)
	default:
		refuse("UnknownOperationException")
	}
}

func (s *service) signedAt() time.Time {
	if s.signed != nil {
		return s.signed()
	}
	return now
}

func (s *service) put(w http.ResponseWriter, events []inputEvent, refuse func(string)) {
	size := 0
	for i, e := range events {
		size += len(e.Message) + 26
		switch {
		case e.Message == "", len(e.Message)+26 > 256<<10, s.refuse != "" && strings.Contains(e.Message, s.refuse),
			i > 0 && e.Timestamp < events[i-1].Timestamp, e.Timestamp-events[0].Timestamp >= 24*3600*1000:
			refuse("InvalidParameterException")
			return
		}
	}
	if len(events) == 0 || len(events) > 10_000 || size > 1_048_576 {
		refuse("InvalidParameterException")
		return
	}
	// The bounds of times: an event of one end is not taken, and those between are.
	before := func(age time.Duration) int {
		return sort.Search(len(events), func(i int) bool { return events[i].Timestamp >= now.Add(-age).UnixMilli() })
	}
	rejected := map[string]int{}
	from, to := before(14*24*time.Hour), before(-2*time.Hour)
	if from > 0 {
		rejected["tooOldLogEventEndIndex"] = from
	}
	if to < len(events) {
		rejected["tooNewLogEventStartIndex"] = to
	}
	if s.keeps > 0 && before(s.keeps) > 0 {
		rejected["expiredLogEventEndIndex"] = before(s.keeps)
		from = max(from, before(s.keeps))
	}
	s.events = append(s.events, events[from:max(from, to)]...)
	said := map[string]any{"nextSequenceToken": "1"}
	if len(rejected) > 0 {
		said["rejectedLogEventsInfo"] = rejected
	}
	_ = json.NewEncoder(w).Encode(said)
}

func start(t *testing.T, s *service, group string) *sink {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"logGroup": group, "region": "eu-central-1", "endpoint": s.server.URL})
	if err != nil {
		t.Fatal(err)
	}
	k, err := open(raw)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	k.getenv, k.now = func(name string) string { return env[name] }, func() time.Time { return now }
	t.Cleanup(k.client.Close)
	t.Cleanup(k.local.Close)
	return k
}

func records(from, n, size int, at func(i int) time.Time) []audit.Record {
	var list []audit.Record
	for i := from; i < from+n; i++ {
		list = append(list, audit.Record{Sequence: uint64(i), Time: at(i), JSON: fmt.Appendf(nil, `{"sequence":%d,"text":"%s"}`, i, bytes.Repeat([]byte("x"), size))})
	}
	return list
}

func TestLimitsOfBatches(t *testing.T) {
	s := newService(t)
	k := start(t, s, "wardroom")
	for range 2 { // the stream may be there
		if _, err := k.Open(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	list := records(1, 12_000, 10, func(int) time.Time { return now })                                                         // more than a batch has
	list = append(list, records(12_001, 100, 50<<10, func(int) time.Time { return now })...)                                   // larger than a batch
	list = append(list, records(12_101, 10, 10, func(i int) time.Time { return now.Add(-time.Duration(i%7) * time.Hour) })...) // not in order
	list = append(list, records(12_111, 10, 10, func(i int) time.Time { return now.Add(time.Duration(i-12_130) * 48 * time.Hour) })...)
	list = append(list, records(12_121, 2, 10, func(int) time.Time { return now.Add(24 * time.Hour) })...) // a clock that was ahead
	if last, err := k.Write(t.Context(), list); err != nil || last != 12_122 {
		t.Fatalf("%d, %v", last, err)
	}
	if len(s.events) != len(list) {
		t.Fatalf("%d events", len(s.events))
	}
	for i, e := range s.events {
		if e.Message != string(list[i].JSON) {
			t.Fatalf("event %d is %.40s", i, e.Message)
		}
	}
}

func TestFailures(t *testing.T) {
	s := newService(t)
	k := start(t, s, "wardroom")
	if _, err := k.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	at := func(int) time.Time { return now }
	for kind, code := range map[string]audit.Code{
		"ThrottlingException": audit.CodeUnavailable, "AccessDeniedException": audit.CodeForbidden, "ResourceNotFoundException": audit.CodeInvalidArgument,
	} {
		s.fail = kind
		if last, err := k.Write(t.Context(), records(1, 2, 10, at)); last != 0 || audit.AsError(err).Code != code || !audit.AsError(err).Retry {
			t.Errorf("%s: %d, %v", kind, last, err)
		}
	}
	if last, err := k.Write(t.Context(), records(1, 1, 300<<10, at)); last != 0 || audit.AsError(err).Code != audit.CodeRejected {
		t.Errorf("a large record: %d, %v", last, err)
	}
	s.refuse = `"sequence":2,`
	if last, err := k.Write(t.Context(), records(2, 1, 1, at)); last != 1 || audit.AsError(err).Code != audit.CodeRejected {
		t.Errorf("a record that is refused: %d, %v", last, err)
	}
	if _, err := start(t, s, "other").Open(t.Context(), 1); audit.AsError(err).Code != audit.CodeInvalidArgument {
		t.Errorf("no such group: %v", err)
	}
}

// One event that the service does not take is found among others, whose batch it keeps out.
func TestRejectedOfBatch(t *testing.T) {
	s := newService(t)
	k := start(t, s, "wardroom")
	if _, err := k.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.refuse, s.calls = `"sequence":700,`, 0
	if rejected := plugintest.Deliver(t, k, records(1, 1000, 10, func(int) time.Time { return now })); !slices.Equal(rejected, []uint64{700}) {
		t.Errorf("rejected are %d", rejected)
	}
	if len(s.events) != 999 || s.calls > 30 {
		t.Errorf("%d events, by %d calls", len(s.events), s.calls)
	}
}

// Records that are older than the retention of the group are passed over without each being asked for again, nor what follows them
// being stored again for each.
func TestExpired(t *testing.T) {
	s := newService(t)
	k := start(t, s, "wardroom")
	if _, err := k.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.keeps, s.calls = 24*time.Hour, 0
	rejected := plugintest.Deliver(t, k, records(1, 200, 10, func(i int) time.Time { return now.Add(time.Duration(i-150)*time.Minute - 24*time.Hour) }))
	if len(rejected) != 149 || rejected[148] != 149 {
		t.Errorf("rejected are %d", rejected)
	}
	if s.calls > 2 || len(s.events) != 51 {
		t.Errorf("%d calls stored %d events, of 51 records", s.calls, len(s.events))
	}
	if _, err := k.Open(t.Context(), 1); err != nil { // such as behind a dump that was restored
		t.Fatal(err)
	}
	s.keeps = 0
	other := records(1, 200, 11, func(int) time.Time { return now }) // of the same sequences
	if rejected := plugintest.Deliver(t, k, other); len(rejected) > 0 || len(s.events) != 51+200 {
		t.Errorf("rejected are %d, %d events", rejected, len(s.events))
	}
}

// The signature is that of the vector get-vanilla-like request which AWS publishes for POST: computed from its parts.
func TestSignature(t *testing.T) {
	header := http.Header{}
	c := credentials{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	if err := c.sign(header, "https://example.amazonaws.com/", "us-east-1", "service", nil, time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	// post-vanilla of the test suite of Signature Version 4.
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, " +
		"Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
	if got := header.Get("Authorization"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// role answers as the endpoint of a machine with a role.
var role = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPut:
		_, _ = io.WriteString(w, "token")
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "token":
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
		_, _ = io.WriteString(w, "role\n")
	default:
		_, _ = fmt.Fprintf(w, `{"AccessKeyId":"M","SecretAccessKey":"N","Token":"O","Expiration":"%s"}`, now.Add(time.Hour).Format(time.RFC3339))
	}
})

func TestCredentials(t *testing.T) {
	s := newService(t)
	k := start(t, s, "wardroom")
	dir := t.TempDir()
	file := filepath.Join(dir, "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = A\naws_secret_access_key=B\n[audit]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "audit"}
	k.getenv = func(name string) string { return env[name] }
	if c, err := k.credentialsOf(t.Context(), credentials{}); err != nil || c.id != "C" || c.session != "E" {
		t.Errorf("%+v, %v", c, err)
	}
	machine := httptest.NewServer(role)
	defer machine.Close()
	env, k.machine = map[string]string{"HOME": dir}, machine.URL
	c, err := k.credentialsOf(t.Context(), credentials{})
	if err != nil || c.id != "M" || c.expires.IsZero() {
		t.Fatalf("%+v, %v", c, err)
	}
	env["AWS_EC2_METADATA_DISABLED"] = "true"
	if again, err := k.credentialsOf(t.Context(), c); err != nil || again != c {
		t.Errorf("those that are good are asked for again: %v", err)
	}
	k.now = func() time.Time { return now.Add(58 * time.Minute) }
	var e *audit.Error
	if _, err := k.credentialsOf(t.Context(), c); !errors.As(err, &e) || e.Code != audit.CodeForbidden {
		t.Errorf("%v", err)
	}
}

// A proxy of the environment is none for what the machine itself answers: the credentials would pass it, or be its own machine's.
func TestCredentialsPassNoProxy(t *testing.T) {
	const variable = "ADDRESS_OF_THE_MACHINE"
	if address := os.Getenv(variable); address != "" { // it is the process below
		k, err := open([]byte(`{"logGroup": "wardroom", "region": "eu-central-1"}`))
		if err != nil {
			t.Fatal(err)
		}
		k.getenv, k.now, k.machine = func(string) string { return "" }, func() time.Time { return now }, address
		if c, err := k.credentialsOf(t.Context(), credentials{}); err != nil || c.id != "M" {
			t.Errorf("%+v, %v", c, err)
		}
		return
	}
	machine := httptest.NewServer(role)
	defer machine.Close()
	var passed atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		passed.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own, "-test.run=^TestCredentialsPassNoProxy$") // a process reads the variables of a proxy once
	// Loopback addresses have no proxy, and this one, which leads there, is none.
	cmd.Env = append(os.Environ(), "HTTP_PROXY="+proxy.URL, "NO_PROXY=", variable+"="+strings.Replace(machine.URL, "127.0.0.1", "0.0.0.0", 1))
	if out, err := cmd.CombinedOutput(); err != nil || passed.Load() > 0 {
		t.Errorf("%d requests passed the proxy; %v\n%s", passed.Load(), err, out)
	}
}

// With a clock that is wrong part of a batch is refused for its times. What the service took of it is not sent again, however often
// the rest is tried.
func TestWrongClock(t *testing.T) {
	for _, test := range []struct {
		name       string
		ahead, age time.Duration // of the clock, and of records that are taken
	}{{"Behind", -2 * time.Hour, 14*24*time.Hour - 4*time.Hour}, {"Ahead", 2 * time.Hour, 0}} {
		t.Run(test.name, func(t *testing.T) {
			s := newService(t)
			k := start(t, s, "wardroom")
			if _, err := k.Open(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			wrong := now.Add(test.ahead)
			k.now = func() time.Time { return wrong }
			s.signed = func() time.Time { return k.now() }
			list := records(1, 3, 10, func(int) time.Time { return now.Add(-20 * 24 * time.Hour) })
			list = append(list, records(4, 20, 10, func(int) time.Time { return now.Add(-test.age) })...)
			list = append(list, records(24, 3, 10, func(int) time.Time { return now.Add(24 * time.Hour) })...)
			from := 0
			write := func() error {
				last, err := k.Write(t.Context(), list[from:])
				from = max(from, int(last))
				return err
			}
			for range 4 {
				err := write()
				if e := audit.AsError(err); e == nil || e.Code != audit.CodeUnavailable || e.Hint == "" {
					t.Fatalf("%+v", e)
				}
				if _, err := k.Open(t.Context(), uint64(from)+1); err != nil {
					t.Fatal(err)
				}
			}
			if len(s.events) < 20 || len(s.events) > len(list) {
				t.Errorf("%d events are stored, of %d records", len(s.events), len(list))
			}
			k.now = func() time.Time { return now }
			if err := write(); err != nil || from != len(list) {
				t.Fatalf("with the right clock: %d, %v", from, err)
			}
			times := map[string]int{}
			for _, e := range s.events {
				times[e.Message]++
			}
			for _, r := range list {
				if times[string(r.JSON)] != 1 {
					t.Errorf("record %d is stored %d times", r.Sequence, times[string(r.JSON)])
				}
			}
		})
	}
}

// A proxy that takes smaller requests than are sent gets smaller ones; a record that alone is too large for it is passed over.
func TestTooLarge(t *testing.T) {
	s := newService(t)
	k := start(t, s, "wardroom")
	if _, err := k.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	at := func(int) time.Time { return now }
	s.largest = 48 << 10
	list := slices.Concat(records(1, 50, 4<<10, at), records(51, 1, 50<<10, at), records(52, 50, 4<<10, at))
	if rejected := plugintest.Deliver(t, k, list); !slices.Equal(rejected, []uint64{51}) || len(s.events) != 100 {
		t.Errorf("rejected are %d, %d events", rejected, len(s.events))
	}
	if last, err := k.Write(t.Context(), records(102, 1, 50<<10, at)); last != 101 || audit.AsError(err).Hint == "" {
		t.Errorf("%d, %v", last, err)
	}
}

func TestBehindFirewall(t *testing.T) {
	s := newService(t)
	k := start(t, s, "wardroom")
	block := func(fn func(body []byte) int) { s.blocks = fn }
	plugintest.BehindFirewall(t, k, block, func(behind uint64, n int) []audit.Record {
		return records(int(behind)+1, n, 10, func(int) time.Time { return now })
	})
	if len(s.events) != 3*(37+5) {
		t.Errorf("%d events", len(s.events))
	}
}

// A small record that is refused as too large, as all others are, is kept: that is a setting.
func TestAllTooLarge(t *testing.T) {
	s := newService(t)
	k := start(t, s, "wardroom")
	if _, err := k.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	at := func(int) time.Time { return now }
	s.largest = 100
	for _, n := range []int{1, 3} {
		last, err := k.Write(t.Context(), records(1, n, 10, at))
		if e := audit.AsError(err); last != 0 || e == nil || e.Code != audit.CodeInvalidArgument || !e.Retry || e.Hint == "" {
			t.Errorf("%d records: %d, %+v", n, last, e)
		}
	}
}
