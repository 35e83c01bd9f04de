package file

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
)

// Two sinks at one file would cut off what the other one writes: the second one waits for the end of the first.
func TestTwoAtOneFile(t *testing.T) {
	o := options(t)
	o.MaxSize = 64 << 10
	s := start(t, o)
	list := records(0, 900, "ann")
	write(t, s, list[:2])
	other := New(o)
	t.Cleanup(func() { _ = other.Close() })
	if _, err := other.Open(t.Context(), 1); err == nil || audit.AsError(err).Code != audit.CodeUnavailable || audit.AsError(err).Hint == "" {
		t.Fatalf("%+v", err)
	}
	if _, err := other.Write(t.Context(), list[:2]); err == nil {
		t.Fatal("both write")
	}
	write(t, s, list) // which begins new files
	if len(s.former()) == 0 {
		t.Fatal("there is one file")
	}
	if _, err := other.Open(t.Context(), 1); err == nil {
		t.Fatal("both write, after a new file was begun")
	}
	sound(t, all(t, s), 900)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// The end of a file that is no part of a record is not cut off: it is the file of another program. What a crash leaves is.
func TestFileOfAnotherProgram(t *testing.T) {
	o := options(t)
	kept := "127.0.0.1 localhost\n::1 localhost"
	if err := os.WriteFile(o.Path, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	s := New(o)
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Open(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("%v", err)
	}
	if have, _ := os.ReadFile(o.Path); string(have) != kept {
		t.Errorf("the file is %q", have)
	}
	line := records(0, 1, "ann")[0].JSON
	for _, part := range [][]byte{line[:1], line[:5], line[:50], line, make([]byte, 4096), append(bytes.Clone(line[:20]), make([]byte, 100)...)} {
		if err := os.WriteFile(o.Path, part, 0o600); err != nil {
			t.Fatal(err)
		}
		s := start(t, o)
		write(t, s, records(0, 3, "ann"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		sound(t, all(t, s), 3)
	}
}

// A file whose first record is of the future, since the clock ran ahead, is put aside by its age all the same.
func TestAgeOfAFileOfTheFuture(t *testing.T) {
	o := options(t)
	ahead := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	list := records(0, 4, "ann")
	for _, restart := range []bool{false, true} {
		o.Path += ".log"
		now := ahead
		o.MaxAge, o.Now = time.Hour, func() time.Time { return now }
		s := start(t, o)
		write(t, s, list[:1])
		now = now.AddDate(-5, 0, 0)
		if restart {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = start(t, o) // the time of its first record, of 2027, is all that is known of its age
		}
		write(t, s, list[1:2])
		now = now.Add(2 * time.Hour)
		write(t, s, list[2:3])
		if n := len(s.former()); n != 1 {
			t.Errorf("restarted %v: %d former files", restart, n)
		}
	}
}
