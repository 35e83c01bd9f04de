package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/plugin"
)

func TestBackoff(t *testing.T) {
	b := newBreaker(DefaultPolicy())
	b.random = func() float64 { return 0.5 } // no jitter
	now := coretest.NewClock().Now()
	var waits []time.Duration
	for range 9 {
		wait, quarantine := b.fail(now, false)
		if quarantine {
			t.Fatal("a wrong file put it into quarantine")
		}
		waits = append(waits, wait)
	}
	const ms = time.Millisecond
	want := []time.Duration{50 * ms, 200 * ms, 800 * ms, 3200 * ms, 12800 * ms, 51200 * ms, time.Minute, time.Minute, time.Minute}
	if !reflect.DeepEqual(waits, want) {
		t.Errorf("waits %v, want %v", waits, want)
	}
	for _, r := range []struct {
		random float64
		want   time.Duration
	}{{0, 40 * ms}, {1, 60 * ms}} {
		b.reset()
		b.random = func() float64 { return r.random }
		if wait, _ := b.fail(now, false); wait.Round(ms) != r.want {
			t.Errorf("with random %v: %s, want %s", r.random, wait, r.want)
		}
	}
}

func TestQuarantineWindow(t *testing.T) {
	p := DefaultPolicy()
	b := newBreaker(p)
	now := coretest.NewClock().Now()
	for i := range 100 { // one crash now and then is no loop
		if _, quarantine := b.fail(now.Add(time.Duration(i)*p.Window/4), true); quarantine {
			t.Fatalf("quarantine after %d crashes far apart", i)
		}
	}
	b.reset()
	for i := 1; ; i++ {
		if _, quarantine := b.fail(now, true); quarantine != (i == p.Quarantine) {
			t.Fatalf("crash %d: quarantine %v", i, quarantine)
		} else if quarantine {
			break
		}
	}
}

func TestRing(t *testing.T) {
	r := newRing()
	for i := range ringLines + 10 {
		r.add(core.PluginLogLine{Message: fmt.Sprint(i)})
	}
	lines, next := r.tail(2)
	if len(lines) != 2 || lines[1].Message != fmt.Sprint(ringLines+9) || next != ringLines+10 {
		t.Errorf("tail %v, next %d", lines, next)
	}
	lines, lost, _, _, _ := r.from(3)
	if len(lines) != ringLines || lost != 7 || lines[0].Message != "10" {
		t.Errorf("%d lines, %d lost, first %v", len(lines), lost, lines[0])
	}
	r.add(core.PluginLogLine{Message: strings.Repeat("x", 2*ringLine)})
	lines, _ = r.tail(1)
	if len(lines[0].Message) > ringLine+10 || !strings.HasSuffix(lines[0].Message, "[cut]") {
		t.Errorf("a long line has %d bytes", len(lines[0].Message))
	}
}

// A visitor that is too slow is told what it missed.
func TestRingFollowLost(t *testing.T) {
	r := newRing()
	r.add(core.PluginLogLine{Message: "first"})
	stop := errors.New("enough")
	var got []string
	err := r.follow(context.Background(), 0, func(line core.PluginLogLine, lost int) error {
		got = append(got, fmt.Sprintf("%s %d", line.Message, lost))
		if len(got) == 1 {
			for i := range ringLines + 5 {
				r.add(core.PluginLogLine{Message: fmt.Sprint(i)})
			}
			return nil
		}
		return stop
	})
	if !errors.Is(err, stop) || !reflect.DeepEqual(got, []string{"first 0", "5 5"}) {
		t.Errorf("visited %v, %v", got, err)
	}
}

func TestRedactor(t *testing.T) {
	redact := redactor([]string{"short", "hunter22", "hunter22-long", "two\nlines", ""})
	for text, want := range map[string]string{
		"nothing":                    "nothing",
		"short":                      "short",
		"a hunter22 b":               "a *** b",
		"hunter22-long":              "***",
		`quoted "two\nlines"`:        `quoted "***"`,
		"plain two\nlines":           "plain ***",
		"hunter22hunter22 hunter2 2": "****** hunter2 2",
	} {
		if got := redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// A plugin prints a secret of several lines as lines, trims one that ends with a line, and shows its settings as JSON.
func TestRedactorForms(t *testing.T) {
	redact := redactor([]string{"-----BEGIN KEY-----\nMIIEvQIBADANBgkq\r\nhkiG9w0BAQ==\n", "ends-with-a-line\n", "a&b<c>\"d"})
	for text, want := range map[string]string{
		"MIIEvQIBADANBgkq":                 "***",
		"key: hkiG9w0BAQ== (base64)":       "key: *** (base64)",
		"token=ends-with-a-line x":         "token=*** x",
		`{"p":"a\u0026b\u003cc\u003e\"d"}`: `{"p":"***"}`,
		`{"p":"a&b<c>\"d"}`:                `{"p":"***"}`,
		`a&b<c>"d`:                         "***",
	} {
		if got := redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// What a plugin looked up once stays hidden, however often it looks up others; so do former values, which it may still have.
func TestHiddenLookUps(t *testing.T) {
	h := newHidden([]string{"given-value"})
	h.add("vault:once", "looked-up-once")
	for i := range 1000 {
		h.add("vault:turns", fmt.Sprintf("turning-%d", i))
		h.add(fmt.Sprintf("vault:%d", i), fmt.Sprintf("other-%d", i))
	}
	for _, text := range []string{"given-value", "looked-up-once", "turning-999", "turning-998", "other-0", "other-999"} {
		if got := h.redact("<" + text + ">"); got != "<***>" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if n := len(h.lookedUp["vault:turns"]); n > maxFormer {
		t.Errorf("%d values of one reference are kept", n)
	}
}

// A plugin that is removed between the look at it and at what is installed is not there any more, and no panic.
func TestCompareRemoved(t *testing.T) {
	dir := t.TempDir()
	h, err := New(Options{Dir: dir, RunDir: dir, StateDir: dir, Clock: coretest.NewClock(), Logger: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	m := &Manifest{Plugins: []ManifestEntry{{Name: "runtime-pen", Version: "2.0.0", SHA256: "two"}}}
	p := &core.Plugin{Name: "runtime-pen", Path: filepath.Join(dir, "runtime-pen"), PID: 7, SHA256: "one"}
	if h.compare(p, map[string]*Manifest{dir: m}); p.Installed != "" {
		t.Errorf("of one that is gone, %s is installed", p.Installed)
	}
}

func TestEnviron(t *testing.T) {
	host := map[string]string{"PATH": "/bin", "SECRET": "x", "HTTP_PROXY": "p", "HOME": "/root"}
	lookup := func(name string) (string, bool) { v, ok := host[name]; return v, ok }
	got := environ(lookup, map[string]string{"PATH": "/opt", "OWN": "1"}, map[string]string{"WARDROOM_PLUGIN_NAME": "pen"})
	want := []string{"HOME=/root", "HTTP_PROXY=p", "OWN=1", "PATH=/opt", "WARDROOM_PLUGIN_NAME=pen"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("environment %v, want %v", got, want)
	}
}

func TestKV(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "kv", "pen.json")
	k := newKV(path)
	if _, found, err := k.Get(ctx, "a"); found || err != nil {
		t.Errorf("get of nothing: %v, %v", found, err)
	}
	for _, key := range []string{"b", "a", "c"} {
		if err := k.Put(ctx, key, []byte("value of "+key)); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Delete(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if err := k.Delete(ctx, "never there"); err != nil {
		t.Fatal(err)
	}
	again := newKV(path)
	value, found, err := again.Get(ctx, "b")
	if string(value) != "value of b" || !found || err != nil {
		t.Errorf("read back: %q, %v, %v", value, found, err)
	}
	if keys, err := again.List(ctx, ""); err != nil || !reflect.DeepEqual(keys, []string{"a", "b"}) {
		t.Errorf("keys %v, %v", keys, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file %v, %v", info, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := newKV(path).Get(ctx, "a"); plugin.AsError(err).Code != plugin.CodeInternal {
		t.Errorf("of a damaged file: %v", err)
	}
}

func TestKVIsBounded(t *testing.T) {
	k := newKV(filepath.Join(t.TempDir(), "pen.json"))
	k.values = map[string][]byte{"full": make([]byte, kvBytes-10)}
	k.bytes = kvBytes - 6
	if err := k.Put(t.Context(), "key", []byte("1234")); plugin.AsError(err).Code != plugin.CodeTooLarge {
		t.Errorf("beyond its bytes: %v", err)
	}
	if err := k.Put(t.Context(), "full", []byte("1")); err != nil {
		t.Errorf("a smaller value: %v", err)
	}
	for i := range kvKeys - 1 {
		k.values[fmt.Sprint(i)] = nil
	}
	if err := k.Put(t.Context(), "one more", nil); plugin.AsError(err).Code != plugin.CodeTooLarge {
		t.Errorf("beyond its keys: %v", err)
	}
}

func TestPluginLogger(t *testing.T) {
	var out strings.Builder
	r := newRing()
	l := &pluginLogger{
		Logger: hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info, DisableTime: true}), clock: coretest.NewClock(),
		binary: "binary", ring: r, redact: redactor([]string{"hunter22"}),
	}
	l.Error("go-plugin's own affairs", "err", errors.New("x"))
	l.Named("stdio").Error("more of its affairs")
	own := l.Named("binary").With("part", "nib")
	own.Warn("leaks hunter22", "n", 5, "timestamp", "2026", "err", errors.New("bad hunter22"), "@module", "x", "why", "", "list", []string{"hunter22"})
	own.StandardLogger(nil).Println("printed hunter22")
	own.Trace("t")
	lines, _ := r.tail(0)
	var got []string
	for _, line := range lines {
		got = append(got, line.Level+" "+line.Message)
	}
	want := []string{`warn leaks *** part=nib err="bad ***" list=[***] n=5`, `info printed *** part=nib`, `trace t part=nib`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("lines %q\nwant  %q", got, want)
	}
	if text := out.String(); strings.Contains(text, "hunter22") || strings.Contains(text, "affairs") || !strings.Contains(text, "[WARN]  leaks ***") {
		t.Errorf("log %s", text)
	}
}

// loggerOf returns the logger of a plugin, which redacts nothing and has no bound, and writes lines of info and above to out.
func loggerOf(out io.Writer, clock core.Clock) *pluginLogger {
	return &pluginLogger{
		Logger: hclog.New(&hclog.LoggerOptions{Output: out, Level: hclog.Info, DisableTime: true}), clock: clock, plugin: true,
		ring: newRing(), redact: redactor(nil),
	}
}

// A line of a plugin is one line of the log, and neither its text nor the name of a field shows a secret.
func TestPluginLoggerOneLine(t *testing.T) {
	var out strings.Builder
	l := loggerOf(&out, coretest.NewClock())
	l.redact = redactor([]string{"hunter22"})
	l.Warn("said\n[ERROR] core: forged\r", "timestamp", "2026", "hunter22", "is no name", "two\nlines", "x")
	if text := out.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "\r") || strings.Contains(text, "hunter22") {
		t.Errorf("log %q", text)
	}
	if last, _ := l.ring.tail(1); strings.ContainsAny(last[0].Message, "\r\n") || strings.Contains(last[0].Message, "hunter22") {
		t.Errorf("kept %q", last[0].Message)
	}
}

// TestPluginLoggerFlood: of a plugin that writes without end some lines go into the log of the service, and the latest are kept.
func TestPluginLoggerFlood(t *testing.T) {
	var out strings.Builder
	h, err := New(Options{
		Dir: "/", RunDir: "/", StateDir: "/", Clock: coretest.NewClock(), Plugins: []Spec{{Name: "runtime-pen"}},
		Logger: hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info, DisableTime: true}),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := h.child("runtime-pen")
	clock, own := h.opts.Clock.(*coretest.Clock), c.log.overheard(new(lastWords)).own("")
	const stretches, lines = 3, 20_000
	for range stretches {
		for i := range lines {
			own.Debug("y") // what a process prints before it is up is a warning
			own.Debug(fmt.Sprint("line ", i), "timestamp", "2026")
			own.Info(fmt.Sprint("line ", i), "timestamp", "2026")
		}
		clock.Advance(time.Minute)
	}
	if n := strings.Count(out.String(), "\n"); n > stretches*1100 || n < stretches*1000 {
		t.Errorf("%d of %d lines are in the log", n, stretches*2*lines)
	}
	own.Info("news", "timestamp", "2026")
	for _, want := range []string{"plugin writes without end", "plugin wrote more than is logged here: lines=39000", ": news\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the log", want)
		}
	}
	if last, _ := c.ring.tail(2); last[0].Message != fmt.Sprint("line ", lines-1) {
		t.Errorf("the last line that is kept is %q", last[0].Message)
	}
	s, before := c.services(), out.Len()
	fields := map[string]string{}
	for i := range 10_000 {
		fields[fmt.Sprintf("name-%05d", i)] = strings.Repeat("x", 1000)
	}
	if err := s.Log(t.Context(), hclog.Info, "wide", fields); err != nil {
		t.Error(err)
	}
	if line := out.String()[before:]; len(line) > 100_000 || !strings.Contains(line, "name-00000") || !strings.Contains(line, "name-00050") {
		t.Errorf("a report of 10000 fields is a line of %d bytes", len(line))
	}
	for range 2 * floodLines {
		err = s.Log(t.Context(), hclog.Warn, "x", nil)
	}
	if plugin.AsError(err).Code != plugin.CodeTooLarge {
		t.Errorf("a report beyond what is logged: %v", err)
	}
}

// TestPluginLoggerRepeats: a warning that a plugin repeats is passed on at once, and then after pauses that grow.
func TestPluginLoggerRepeats(t *testing.T) {
	var out strings.Builder
	clock := coretest.NewClock()
	l := loggerOf(&out, clock)
	l.repeats = &repeats{}
	warn := func(agent string, port int) {
		l.Warn("the agent is out of reach", "timestamp", "2026", "error", fmt.Sprintf("dial :%d:\nrefused", port), "agent", agent)
	}
	for i := range 4 * 600 { // ten minutes, each 250 ms
		warn("one", 30000+i)
		if i%400 == 0 {
			warn("two", 30000+i)
		}
		clock.Advance(250 * time.Millisecond)
	}
	for range 3 {
		l.Info("news", "timestamp", "2026")
	}
	text := out.String()
	if n := strings.Count(text, "agent=one"); n < 5 || n > 12 {
		t.Errorf("%d of 2400 warnings are passed on, want few:\n%s", n, text)
	}
	if n := strings.Count(text, "agent=two"); n != 6 {
		t.Errorf("%d warnings of another agent, want all 6: they are minutes apart", n)
	}
	if n := strings.Count(text, "news"); n != 3 {
		t.Errorf("%d lines of news, want 3", n)
	}
	for _, want := range []string{`[WARN]  the agent is out of reach: agent=one error="dial :30000:\nrefused"`, "repeated=3\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	for i := range 2 * maxRepeats { // more different ones than are known
		l.Warn("odd", "timestamp", "2026", "what", strings.Repeat("x", i))
	}
	if n := len(l.repeats.seen); n > maxRepeats {
		t.Errorf("%d warnings are remembered", n)
	}
}
