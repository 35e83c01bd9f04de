package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/webhook"
)

func TestVerify(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(h http.Header)
		secret string
		body   string
		skew   time.Duration // of now
		within time.Duration
		want   error
	}{
		{name: "Newest"},
		{name: "Former", secret: vectorFormer},
		{name: "Alone", change: func(h http.Header) { h.Set("X-Service-Signature", vectorSignature) }},
		{name: "Spaces", change: func(h http.Header) { h.Set("X-Service-Signature", " "+formerSignature+" ,  "+vectorSignature+" ") }},
		{name: "TwoHeaders", change: func(h http.Header) {
			h["X-Service-Signature"] = []string{formerSignature, vectorSignature}
		}},
		{name: "OtherSchemesBeside", change: func(h http.Header) {
			h.Set("X-Service-Signature", "v2=abc,sha512=00,"+vectorSignature)
		}},
		{name: "UpperCaseHex", change: func(h http.Header) {
			h.Set("X-Service-Signature", "sha256="+strings.ToUpper(strings.TrimPrefix(vectorSignature, "sha256=")))
		}},
		{name: "OldEnough", skew: 5 * time.Minute},
		{name: "NewEnough", skew: -5 * time.Minute},
		{name: "OldAllowed", skew: time.Hour, within: 2 * time.Hour},
		{name: "AnyTime", skew: 24 * 365 * 200 * time.Hour, within: -1},

		{name: "NoSecret", secret: "-", want: webhook.ErrNoSecret},
		{name: "OtherSecret", secret: "other", want: webhook.ErrSignature},
		{name: "Tampered", body: strings.Replace(vectorBody, "exec_1", "exec_2", 1), want: webhook.ErrSignature},
		{name: "ParsedAgain", body: strings.Replace(vectorBody, `\u00e9`, "é", 1), want: webhook.ErrSignature},
		{name: "OtherTimestamp", change: func(h http.Header) { h.Set("X-Service-Timestamp", "1767323046") }, want: webhook.ErrSignature},
		{name: "SameNumberOtherText", change: func(h http.Header) { h.Set("X-Service-Timestamp", "+1767323045") }, want: webhook.ErrSignature},
		{name: "NoTimestamp", change: func(h http.Header) { h.Del("X-Service-Timestamp") }, want: webhook.ErrTimestamp},
		{name: "TwoTimestamps", change: func(h http.Header) { h.Add("X-Service-Timestamp", vectorTimestamp) }, want: webhook.ErrTimestamp},
		{name: "NegativeTimestamp", change: func(h http.Header) { h.Set("X-Service-Timestamp", "-1") }, want: webhook.ErrTimestamp},
		{name: "HugeTimestamp", change: func(h http.Header) { h.Set("X-Service-Timestamp", "9223372036854775807") }, want: webhook.ErrTimestamp},
		{name: "TextTimestamp", change: func(h http.Header) { h.Set("X-Service-Timestamp", "2026-01-02T03:04:05Z") }, want: webhook.ErrTimestamp},
		{name: "NoSignature", change: func(h http.Header) { h.Del("X-Service-Signature") }, want: webhook.ErrNoSignature},
		{name: "BareHex", change: func(h http.Header) {
			h.Set("X-Service-Signature", strings.TrimPrefix(vectorSignature, "sha256="))
		}, want: webhook.ErrNoSignature},
		{name: "ShortSignature", change: func(h http.Header) { h.Set("X-Service-Signature", vectorSignature[:len(vectorSignature)-2]) }, want: webhook.ErrNoSignature},
		{name: "EmptySignature", change: func(h http.Header) { h.Set("X-Service-Signature", "sha256=") }, want: webhook.ErrNoSignature},
		{name: "NoHex", change: func(h http.Header) { h.Set("X-Service-Signature", "sha256="+strings.Repeat("z", 64)) }, want: webhook.ErrNoSignature},
		{name: "TooManySignatures", change: func(h http.Header) {
			h.Set("X-Service-Signature", strings.Repeat("sha256="+strings.Repeat("0", 64)+",", 16)+vectorSignature)
		}, want: webhook.ErrSignature},
		{name: "TooOld", skew: 5*time.Minute + time.Second, want: webhook.ErrTooOld},
		{name: "TooNew", skew: -5*time.Minute - time.Second, want: webhook.ErrTooNew},
		{name: "OwnTolerance", skew: 2 * time.Second, within: time.Second, want: webhook.ErrTooOld},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header, secret, body := vector(), vectorSecret, vectorBody
			if tt.change != nil {
				tt.change(header)
			}
			if tt.secret != "" {
				secret = strings.TrimPrefix(tt.secret, "-")
			}
			if tt.body != "" {
				body = tt.body
			}
			event, err := webhook.Verify(secret, header, []byte(body), tt.within, vectorTime.Add(tt.skew))
			if !errors.Is(err, tt.want) || (tt.want == nil) != (err == nil) {
				t.Fatalf("err = %v, want %v", err, tt.want)
			}
			if err != nil {
				if webhook.Refused(err) == errors.Is(err, webhook.ErrNoSecret) || event.ID != "" {
					t.Errorf("refused %v with %+v", webhook.Refused(err), event)
				}
				return
			}
			var data struct{ ExecutionID string }
			if err := event.Decode(&data); err != nil || data.ExecutionID != "exec_1" {
				t.Errorf("data %+v, %v", data, err)
			}
			if event.ID != "evt_01JGFJJZ8N4Q1W0000000000AB" || event.Type != "execution.completed" || event.DeliveryID != "dlv_1" ||
				event.Retry != 2 || !event.SentAt.Equal(vectorTime) || !event.Timestamp.Equal(vectorTime.Add(678*time.Millisecond)) {
				t.Errorf("event %+v", event)
			}
		})
	}
}

// TestVerifyBody: what is signed is not always an event.
func TestVerifyBody(t *testing.T) {
	for _, body := range []string{
		``, `null`, `[]`, `"x"`, `{}`, `{`, `{"id":"evt_1","type":"t","timestamp":"2026-01-02T03:04:05Z"}`,
		`{"id":"evt_1","type":"t","timestamp":"2026-01-02T03:04:05Z","data":[]}`, `{"id":"evt_1","type":"t","timestamp":"2026-01-02T03:04:05Z","data":null}`,
		`{"id":"evt_1","type":"t","timestamp":"yesterday","data":{}}`, `{"id":"evt_1","type":"t","data":{}}`, `{"id":1,"type":"t","timestamp":"2026-01-02T03:04:05Z","data":{}}`,
		`{"type":"t","timestamp":"2026-01-02T03:04:05Z","data":{}}`, `{"id":"evt_1","timestamp":"2026-01-02T03:04:05Z","data":{}}`,
	} {
		h := http.Header{}
		h.Set("X-Service-Timestamp", vectorTimestamp)
		h.Set("X-Service-Signature", webhook.Sign("s", vectorTime, []byte(body)))
		if _, err := webhook.Verify("s", h, []byte(body), 0, vectorTime); !errors.Is(err, webhook.ErrBody) || webhook.Refused(err) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestSign(t *testing.T) {
	if got := webhook.Sign(vectorSecret, vectorTime.Add(999*time.Millisecond), []byte(vectorBody)); got != vectorSignature {
		t.Errorf("%s, want %s", got, vectorSignature)
	}
}

// FuzzVerify: no header makes a body pass that was not signed, and every signed event passes.
func FuzzVerify(f *testing.F) {
	f.Add(vectorSecret, vectorTimestamp, vectorSignature, vectorBody)
	f.Add("s", "0", "sha256=,sha256=00", "{}")
	f.Add("", "-", ",,,", "")
	f.Add(vectorSecret, vectorTimestamp, formerSignature+","+vectorSignature, "\xff")
	f.Fuzz(func(t *testing.T, secret, timestamp, signature, body string) {
		h := http.Header{"X-Service-Timestamp": {timestamp}, "X-Service-Signature": {signature}}
		event, err := webhook.Verify(secret, h, []byte(body), -1, vectorTime)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(timestamp + "." + body))
		if err == nil && (event.ID == "" || !strings.Contains(strings.ToLower(signature), "sha256="+hex.EncodeToString(mac.Sum(nil)))) {
			t.Fatalf("%q passed with %q at %q", body, signature, timestamp)
		}
		if secret == "" {
			if !errors.Is(err, webhook.ErrNoSecret) {
				t.Fatalf("passed without a secret: %v", err)
			}
			return
		}
		h = http.Header{"X-Service-Timestamp": {vectorTimestamp}, "X-Service-Signature": {webhook.Sign(secret, vectorTime, []byte(body))}}
		if _, err := webhook.Verify(secret, h, []byte(body), 0, vectorTime); err != nil && !errors.Is(err, webhook.ErrBody) {
			t.Fatalf("a signed body was refused: %v", err)
		}
	})
}
