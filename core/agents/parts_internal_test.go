package agents

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func TestBucket(t *testing.T) {
	var b bucket
	now := time.Unix(1000, 0)
	take := func() verdict { return b.take(now, 10, 5*time.Second) }
	for range 20 {
		if take() != admitted {
			t.Fatal("the burst is two seconds' worth")
		}
	}
	if take() != droppedTell || take() != dropped {
		t.Fatal("the first refusal is told, the next is not")
	}
	now = now.Add(100 * time.Millisecond)
	if take() != admitted || take() != dropped {
		t.Fatal("refill")
	}
	now = now.Add(time.Hour)
	for range 20 {
		if take() != admitted {
			t.Fatal("refill stops at the burst")
		}
	}
	if take() != droppedTell {
		t.Fatal("a new episode is told")
	}
	var last verdict
	for range 55 { // ten refusals a second for five seconds and a half
		now = now.Add(100 * time.Millisecond)
		take()
		last = take()
	}
	if last != flooded {
		t.Fatalf("sustained: %v", last)
	}
	now = now.Add(-time.Minute) // a clock that goes back neither refills nor fails
	take()

	var credited bucket
	credited.credit(5)
	for range 25 {
		if credited.take(now, 10, time.Second) != admitted {
			t.Fatal("credit")
		}
	}
}

func TestUnsettledRotation(t *testing.T) {
	var u unsettled
	const age = 100
	if !u.rotate(1, age) {
		t.Fatal("empty")
	}
	first := u.add(10)
	if !u.rotate(101, age) { // the report is in the older generation now
		t.Fatal("younger than a generation")
	}
	second := u.add(10)
	if u.full(3, 1000) != nil || u.full(2, 1000) == nil || u.full(3, 20) == nil {
		t.Fatal("bounds")
	}
	if u.rotate(201, age) {
		t.Fatal("an old report was overlooked")
	}
	wake := u.full(2, 1000)
	u.settle(first, 10)
	<-wake
	if !u.rotate(301, age) || u.full(2, 1000) != nil {
		t.Fatal("settled")
	}
	u.settle(second, 10)
	if !u.rotate(401, age) || u.bytes != 0 {
		t.Fatal("all settled")
	}
}

// Frames that are queued while a write is in progress go out together, and headers have the right size.
func TestOutboxFramesAndCoalesces(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	o := outbox{conn: ours, clock: coretest.NewClock(), broken: func() { t.Error("broken") }}
	for _, n := range []int{0, 125, 126, 65535, 65536} {
		payload := strings.Repeat("x", n)
		if sent, full := o.put([]byte(payload), 1<<20); !sent || full {
			t.Fatalf("put %d bytes", n)
		}
	}
	if sent, full := o.put(make([]byte, 1<<20), 1<<20); sent || !full {
		t.Fatal("the queue took too much")
	}
	if !o.putBeyond(make([]byte, 10)) {
		t.Fatal("putBeyond")
	}
	size := 2 + 0 + 2 + 125 + 4 + 126 + 4 + 65535 + 10 + 65536 + 2 + 10
	got := make([]byte, size)
	if _, err := io.ReadFull(theirs, got); err != nil {
		t.Fatal(err)
	}
	if got[0] != 0x81 || got[1] != 0 || got[3] != 125 || got[130] != 126 || got[131] != 0 || got[132] != 126 {
		t.Fatalf("headers: % x", got[:8])
	}
	if !o.shut(1000, strings.Repeat("é", 100), false, time.Second) || o.shut(1000, "", false, time.Second) {
		t.Fatal("shut")
	}
	if sent, full := o.put([]byte("x"), 100); sent || full {
		t.Fatal("put after shut")
	}
	closing := make([]byte, 2+2+122) // cut at a whole character
	if _, err := io.ReadFull(theirs, closing); err != nil || closing[0] != 0x88 || int(closing[1]) != len(closing)-2 {
		t.Fatalf("close frame: % x %v", closing[:4], err)
	}
	o.flushers.Wait()
	_ = ours.Close()
}

func TestOutboxBroken(t *testing.T) {
	ours, theirs := net.Pipe()
	_ = theirs.Close()
	broken := make(chan struct{})
	o := outbox{conn: ours, clock: coretest.NewClock(), broken: func() { close(broken) }}
	o.put([]byte("x"), 100)
	<-broken
	o.flushers.Wait()
	if sent, _ := o.put([]byte("x"), 100); sent {
		t.Fatal("put after the connection broke")
	}
}

func TestConfigValidate(t *testing.T) {
	if err := (Config{}).Validate(); err != nil {
		t.Fatal(err)
	}
	err := Config{HeartbeatInterval: -1, MaxMessage: -1, UnhealthyAfter: 3, DisconnectAfter: 3}.Validate()
	problems, _ := core.AsError(err).Details["errors"].([]core.Problem)
	if core.ErrorCode(err) != core.CodeValidation || len(problems) != 3 {
		t.Fatalf("%v", err)
	}
	if got := (Config{ResumeGrace: time.Minute}).withDefaults(); got.ResumeGrace != time.Minute || got.HeartbeatInterval != 10*time.Second {
		t.Fatalf("%+v", got)
	}
}

func TestCleanReason(t *testing.T) {
	for in, want := range map[string]string{
		"": "none", " \n": "none", "a\tb": "a b", strings.Repeat("é", 600): strings.Repeat("é", 512),
	} {
		if got := cleanReason(in, "none"); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestRestoreRefusesBrokenHash(t *testing.T) {
	now := time.Unix(1000, 0)
	a := restore(&core.AgentRecord{Agent: core.Agent{ID: "a", Status: core.AgentConnected}, ResumeHash: "zz", Resumable: true}, core.Stopwatch{}, now)
	if a.presence != gone || !a.leftAt.Equal(now) || a.maxTasks != 1 {
		t.Fatalf("%+v", a.presence)
	}
}
