package webhook_test

import (
	"net/http"
	"strings"
	"time"
)

// One delivery, signed with two secrets as while a secret is replaced. The digests were made with openssl:
//
//	printf '%s.%s' 1767323045 "$body" | openssl dgst -sha256 -hmac "$secret"
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorFormer    = "old secret"
	vectorTimestamp = "1767323045"
	vectorBody      = `{"id":"evt_01JGFJJZ8N4Q1W0000000000AB","type":"execution.completed","timestamp":"2026-01-02T03:04:05.678Z","data":{"executionId":"exec_1","result":{"label":"gut \u00e9 é"}}}`
	vectorSignature = "sha256=6ee24abc360791ca8cdd671a559350f2912f866f17050214ad27fae659a57b3f"
	formerSignature = "sha256=2ca22a68724672c3ce257279c8bc0e5b82e1afbcb3fd9235e51018060e86b293"
)

var vectorTime = time.Unix(1767323045, 0).UTC()

// vector returns the headers of the delivery.
func vector() http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("X-Service-Signature", strings.Join([]string{vectorSignature, formerSignature}, ","))
	h.Set("X-Service-Event", "execution.completed")
	h.Set("X-Service-Delivery", "dlv_1")
	h.Set("X-Service-Timestamp", vectorTimestamp)
	h.Set("X-Service-Retry-Count", "2")
	h.Set("X-Service-Original-Timestamp", "1767322000")
	return h
}
