package life_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/holder/life"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestClaims(t *testing.T) {
	var c life.Claims
	release, err := c.Claim("one")
	if err != nil {
		t.Fatal(err)
	}
	if !c.Held("one") || c.Held("two") {
		t.Error("a claim is of the other id")
	}
	if _, err := c.Claim("one"); runtime.ErrorCode(err) != runtime.CodeAlreadyExists || !runtime.AsError(err).Retry {
		t.Errorf("the second claim got %v", err)
	}
	other, err := c.Claim("two")
	if err != nil {
		t.Fatal(err)
	}
	other()
	release()
	if c.Held("one") {
		t.Error("a claim outlives its release")
	}
	if _, err := c.Claim("../one"); err == nil {
		t.Error("a path was taken for an id")
	}
}

func TestMarked(t *testing.T) {
	env := []string{"A=1", life.MarkID + "=forged", "WARDROOM_AGENT_OTHER=x", "WARDROOM_AGENTS=y"}
	nonce := wire.Nonce{1}
	want := []string{"A=1", "WARDROOM_AGENTS=y", life.MarkID + "=one", life.MarkNonce + "=" + nonce.String()}
	if got := life.Marked(env, "one", nonce); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if env[1] != life.MarkID+"=forged" {
		t.Error("the environment of the caller was changed")
	}
}

func TestEnded(t *testing.T) {
	ctx := t.Context()
	head := uint64(7)
	for _, tt := range []struct {
		name string
		head *uint64
		want uint64
	}{{"known", &head, 7}, {"not known", nil, 3}} {
		t.Run(tt.name, func(t *testing.T) {
			e := &life.Ended{Record: []byte("handle"), Exit: runtime.Exit{Code: 4}, Head: tt.head}
			out, err := e.Output(ctx, 3)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := out.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) || out.Offset() != tt.want {
				t.Errorf("read %d, %v at %d; want the end at %d", n, err, out.Offset(), tt.want)
			}
			if exit, err := e.Wait(ctx); err != nil || exit.Code != 4 {
				t.Errorf("it ended with %v, %v", exit, err)
			}
			for name, err := range map[string]error{"write": e.Write(ctx, nil), "resize": e.Resize(ctx, 1, 1), "interrupt": e.Interrupt(ctx)} {
				if runtime.ErrorCode(err) != runtime.CodeNotRunning {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := e.Kill(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWords(t *testing.T) {
	var w life.Words
	for range 100 {
		if n, err := w.Write([]byte("so it\n\twas ")); n != 11 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := w.String(); !strings.HasPrefix(got, "so it was so it was ") || len(got) > 500 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := life.OneLine(strings.Repeat("ä", 400)); !strings.HasSuffix(got, "ä ...") || len(got) > 510 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestRecords(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, text := range []string{"one", "two"} {
		if err := life.WriteRecord(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Errorf("the record is %q, %v", data, err)
		}
	}
	cut := filepath.Join(dir, ".a.json.123.tmp")
	if err := os.WriteFile(cut, []byte("tw"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := life.SweepRecords(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "a.json" {
		t.Errorf("left are %v, %v", left, err)
	}
}
