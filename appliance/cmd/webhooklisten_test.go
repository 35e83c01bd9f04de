package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/webhook"
)

var listening = regexp.MustCompile(`listening on (http://\S+);`)

// listener is a running `wardroom webhook listen`.
type listener struct {
	*run
	url  string
	stop context.CancelFunc // ends it as a signal does
}

func startListener(t *testing.T, args ...string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	args = append([]string{"webhook", "listen", "--listen", "127.0.0.1:0", "--secret", "s"}, args...)
	l := &listener{run: start(ctx, "", cmd.Deps{}, args...), stop: cancel}
	t.Cleanup(func() {
		cancel()
		<-l.done
	})
	coretest.WaitFor(t, "the receiver", func() bool { return listening.MatchString(l.stderr.String()) })
	l.url = listening.FindStringSubmatch(l.stderr.String())[1]
	return l
}

// send delivers an event, signed with a secret at a time, and returns the status.
func (l *listener) send(t *testing.T, secret string, at time.Time, body string) int {
	t.Helper()
	req, err := http.NewRequest("POST", l.url+"/any/path", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Service-Timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("X-Service-Signature", webhook.Sign(secret, at, []byte(body)))
	req.Header.Set("X-Service-Event", "system.alert")
	req.Header.Set("X-Service-Delivery", "dlv_1")
	req.Header.Set("X-Service-Retry-Count", "2")
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

const alert = `{"id":"evt_1","type":"system.alert","timestamp":"2026-01-02T03:04:05.678Z","data":{"severity":"info","message":"<b>\u001b[31m"}}`

func TestWebhookListen(t *testing.T) {
	l := startListener(t)
	if got := l.send(t, "s", time.Now(), alert); got != 200 {
		t.Errorf("verified: %d", got)
	}
	if got := l.send(t, "other", time.Now(), alert); got != 401 {
		t.Errorf("forged: %d", got)
	}
	if got := l.send(t, "s", time.Now().Add(-time.Hour), alert); got != 401 {
		t.Errorf("old: %d", got)
	}
	if resp, err := http.Get(l.url); err != nil || resp.StatusCode != 405 {
		t.Errorf("GET: %v %v", resp, err)
	} else {
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	l.stop()
	l.expect(t, 0)
	want := regexp.MustCompile(`^\d\d:\d\d:\d\d  verified  system\.alert           dlv_1  retry 2  200  \{"severity":"info","message":"<b>\\u001b\[31m"\}
\d\d:\d\d:\d\d  REFUSED   system\.alert           dlv_1  retry 2  401  the signature does not fit
\d\d:\d\d:\d\d  REFUSED   system\.alert           dlv_1  retry 2  401  the delivery is too old: it was signed 1h0m\d+s ago
$`)
	if !want.MatchString(l.stdout.String()) {
		t.Errorf("output\n%s", &l.stdout)
	}
	if !strings.Contains(l.stderr.String(), "1 delivery verified, 2 refused\n") {
		t.Errorf("stderr %s", &l.stderr)
	}
}

func TestWebhookListenDocuments(t *testing.T) {
	l := startListener(t, "-o", "json", "--fail", "1", "--tolerance", "0")
	for i, want := range []int{500, 200, 401} {
		secret := "s"
		if want == 401 {
			secret = "other"
		}
		if got := l.send(t, secret, time.Unix(1767323045, 0), alert); got != want {
			t.Errorf("answer %d: %d, want %d", i, got, want)
		}
	}
	l.stop()
	l.expect(t, 0)
	var got []string
	for line := range strings.Lines(l.stdout.String()) {
		var r struct {
			Time                              time.Time
			Verified                          bool
			Status, RetryCount                int
			Type, DeliveryID, EventID, Reason string
			Data                              struct{ Severity string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Time.IsZero() {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, fmt.Sprint(r.Verified, r.Status, r.RetryCount, " ", r.Type, r.DeliveryID, r.EventID, r.Reason, r.Data.Severity))
	}
	want := []string{
		"true 500 2 system.alertdlv_1evt_1info", "true 200 2 system.alertdlv_1evt_1info", "false 401 2 system.alertdlv_1the signature does not fit",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

func TestWebhookListenAnswers(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []int
	}{
		{[]string{"--status", "204"}, []int{204, 204}},
		{[]string{"--status", "410", "-o", "yaml"}, []int{410, 410}},
		{[]string{"--fail", "2", "--status", "503"}, []int{503, 503, 200}},
	} {
		l := startListener(t, tt.args...)
		for _, want := range tt.want {
			if got := l.send(t, "s", time.Now(), alert); got != want {
				t.Errorf("%v: %d, want %d", tt.args, got, want)
			}
		}
		l.stop()
	}
	// The port is taken.
	l := startListener(t)
	taken := execute(t, "", "webhook", "listen", "--secret", "s", "--listen", strings.TrimPrefix(l.url, "http://"))
	taken.expect(t, 2, "address already in use")
}
