package source_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/secret"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a source of what a test puts there.
type memory struct {
	mu      sync.Mutex // guards all below
	entries map[string]source.Entry
	err     error
	reads   map[string]int
}

func newMemory() *memory {
	return &memory{reads: map[string]int{}, entries: map[string]source.Entry{
		"/db":     {Fields: map[string][]byte{"user": []byte("app"), "password": []byte("hunter2-hunter2"), "empty": nil}, Version: "1"},
		"/text":   {Whole: []byte("plain-text-of-it"), Version: "7"},
		"/binary": {Fields: map[string][]byte{"key": {0xff, 0}}},
	}}
}

func (m *memory) Locate(path string) (string, error) {
	if strings.Contains(path, " ") {
		return "", secret.Errorf(secret.CodeInvalidRef, "no spaces")
	}
	return "/" + strings.TrimPrefix(path, "/"), nil
}

func (m *memory) Read(ctx context.Context, place string) (source.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads[place]++
	if m.err != nil {
		return source.Entry{}, m.err
	}
	entry, ok := m.entries[place]
	if !ok {
		return entry, secret.Errorf(secret.CodeNotFound, "there is no %s", place)
	}
	return entry, ctx.Err()
}

func (m *memory) put(place, password string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[place] = source.Entry{Fields: map[string][]byte{"password": []byte(password)}}
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *memory) count(place string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads[place]
}

func provide(t *testing.T, s source.Source) *source.Provider {
	t.Helper()
	p := source.New(source.Options{Source: s, Interval: time.Minute})
	t.Cleanup(p.Close)
	return p
}

func TestConformance(t *testing.T) {
	p := provide(t, newMemory())
	conformance.Secret(t.Context(), t, conformance.SecretOptions{
		Provider: p, Unknown: secret.Ref{Path: "gone", Key: "x"},
		Known: []conformance.KnownSecret{
			{Ref: secret.Ref{Path: "db", Key: "password"}, Value: []byte("hunter2-hunter2")},
			{Ref: secret.Ref{Path: "text"}, Value: []byte("plain-text-of-it")},
		},
	})
}

func TestFields(t *testing.T) {
	m := newMemory()
	p := provide(t, m)
	for _, test := range []struct {
		ref  secret.Ref
		want string
		code secret.Code
	}{
		{ref: secret.Ref{Path: "db", Key: "user"}, want: "app"},
		{ref: secret.Ref{Path: "/db", Key: "empty"}, want: ""},
		{ref: secret.Ref{Path: "db"}, want: `{"empty":"","password":"hunter2-hunter2","user":"app"}`},
		{ref: secret.Ref{Path: "db", Key: "x"}, code: secret.CodeNotFound},
		{ref: secret.Ref{Path: "text", Key: "x"}, code: secret.CodeNotFound},
		{ref: secret.Ref{Path: "binary", Key: "key"}, want: "\xff\x00"},
		{ref: secret.Ref{Path: "binary"}, code: secret.CodeInvalidRef},
		{ref: secret.Ref{Path: "a b"}, code: secret.CodeInvalidRef},
	} {
		results, err := p.Resolve(t.Context(), []secret.Ref{test.ref}, secret.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		r := results[0]
		if test.code != "" {
			if r.Error == nil || r.Error.Code != test.code || !r.Value.IsZero() {
				t.Errorf("%v: got %v, want %s", test.ref, r.Error, test.code)
			}
		} else if r.Error != nil || r.Value.IsZero() || string(r.Value.Reveal()) != test.want {
			t.Errorf("%v: got %q, %v", test.ref, r.Value.Reveal(), r.Error)
		}
	}
}

// All fields of a place come from one reading, so that a user name has its own password.
func TestOneReading(t *testing.T) {
	m := newMemory()
	p := provide(t, m)
	refs := []secret.Ref{{Path: "db", Key: "user"}, {Path: "/db", Key: "password"}, {Path: "db"}}
	if _, err := p.Resolve(t.Context(), refs, secret.Caller{}); err != nil {
		t.Fatal(err)
	}
	if n := m.count("/db"); n != 1 {
		t.Errorf("read %d times", n)
	}
}

func TestFailures(t *testing.T) {
	m := newMemory()
	p := provide(t, m)
	refs := []secret.Ref{{Path: "db", Key: "user"}, {Path: "text"}}
	for _, test := range []struct {
		name  string
		err   error
		whole secret.Code
		one   secret.Code
	}{
		{name: "down", err: secret.Errorf(secret.CodeUnavailable, "down"), whole: secret.CodeUnavailable},
		{name: "login", err: &secret.Error{Code: secret.CodeForbidden, Message: "no login", Retry: true}, whole: secret.CodeForbidden},
		{name: "forbidden", err: secret.Errorf(secret.CodeForbidden, "no right"), one: secret.CodeForbidden},
		{name: "foreign", err: errors.New("hunter2-hunter2"), one: secret.CodeInternal},
	} {
		t.Run(test.name, func(t *testing.T) {
			m.fail(test.err)
			results, err := p.Resolve(t.Context(), refs, secret.Caller{})
			if e := secret.AsError(err); test.whole != "" {
				if e == nil || e.Code != test.whole {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || results[1].Error == nil || results[1].Error.Code != test.one || strings.Contains(results[1].Error.Error(), "hunter2") {
				t.Errorf("got %v, %v", results, err)
			}
		})
	}
}

// next returns what a stream tells, or nothing when it has ended.
func next(t *testing.T, s secret.ChangeStream) []secret.Ref {
	t.Helper()
	refs, err := s.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	return refs
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		p := source.New(source.Options{Source: m, Interval: time.Minute})
		refs := []secret.Ref{{Path: "/db", Key: "password"}, {Path: "db", Key: "user"}, {Path: "text"}}
		if _, err := p.Resolve(t.Context(), refs, secret.Caller{}); err != nil {
			t.Fatal(err)
		}
		m.put("/db", "changed before the watch began")
		s, err := p.Watch(t.Context(), refs)
		if err != nil {
			t.Fatal(err)
		}
		if got := next(t, s); len(got) != 2 || got[0] != refs[0] || got[1] != refs[1] {
			t.Errorf("got %v", got)
		}
		m.fail(secret.Errorf(secret.CodeUnavailable, "down")) // which changes nothing
		<-time.After(10 * time.Minute)
		m.fail(nil)
		m.put("/text", "x")
		if got := next(t, s); len(got) != 1 || got[0] != refs[2] {
			t.Errorf("got %v", got)
		}
		p.Changed("/text")
		p.Close()
		if got := next(t, s); len(got) != 1 {
			t.Errorf("what was pending is lost at the end: %v", got)
		}
		if got := next(t, s); got != nil {
			t.Errorf("got %v after the end", got)
		}
		if _, err := p.Watch(t.Context(), refs); secret.AsError(err) == nil || secret.AsError(err).Code != secret.CodeUnavailable {
			t.Errorf("a watch after the end: %v", err)
		}
	})
}

// Values that expire are another one at each reading: telling so would have them read for ever.
func TestExpiringValuesAreNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.entries["/token"] = source.Entry{Whole: []byte("a"), NotAfter: time.Now().Add(time.Hour)}
		p := source.New(source.Options{Source: m, Interval: time.Minute})
		s, err := p.Watch(t.Context(), []secret.Ref{{Path: "token"}})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(30 * time.Minute)
		if n := m.count("/token"); n != 1 {
			t.Errorf("read %d times before it expires", n)
		}
		p.Changed("/token")
		if got := next(t, s); len(got) != 1 {
			t.Errorf("got %v", got)
		}
		_ = s.Close()
		if got := next(t, s); got != nil {
			t.Errorf("got %v after the end", got)
		}
		if p.Watched("/token") {
			t.Error("a place is followed that nobody waits for")
		}
		p.Close()
	})
}
