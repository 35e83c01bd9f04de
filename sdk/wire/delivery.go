package wire

import (
	"encoding/json"
	"time"
)

// DeliveryStatus is where a delivery is in its life.
type DeliveryStatus string

// States of a delivery. The last three are terminal, but a failed one may be retried by hand.
const (
	DeliveryPending   DeliveryStatus = "pending" // waits for its first or next attempt
	DeliverySucceeded DeliveryStatus = "succeeded"
	DeliveryFailed    DeliveryStatus = "failed"    // no attempt is left
	DeliveryCancelled DeliveryStatus = "cancelled" // the endpoint was deleted
)

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID            string         `json:"id"`
	WebhookID     string         `json:"webhookId"`
	EventID       string         `json:"eventId" doc:"The same at every attempt; receivers tell duplicates by it."`
	Event         string         `json:"event"`
	Subject       string         `json:"subject,omitempty" doc:"What the event is of, for example an execution."`
	Status        DeliveryStatus `json:"status" enum:"pending,succeeded,failed,cancelled"`
	StatusCode    int            `json:"statusCode" doc:"Of the last answer; 0: there was none."`
	Timestamp     time.Time      `json:"timestamp" doc:"Of the last attempt; before the first, when it was made."`
	Duration      Millis         `json:"duration" doc:"Milliseconds of the last attempt."`
	Retries       int            `json:"retries" doc:"Attempts after the first."`
	Attempts      int            `json:"attempts"`
	ManualRetries int            `json:"manualRetries,omitempty" doc:"Retries by hand."`
	LastError     string         `json:"lastError,omitempty" doc:"Why the last attempt failed."`
	NextAt        *time.Time     `json:"nextAt,omitempty" doc:"Of the next attempt, while it waits."`
	CreatedAt     time.Time      `json:"createdAt"`
	FirstAt       *time.Time     `json:"firstAt,omitempty" doc:"Of the first attempt."`
	Test          bool           `json:"test,omitempty" doc:"A made-up event."`
	ResponseBody  string         `json:"responseBody,omitempty" doc:"The beginning of the last answer."`
}

// DeliveryAttempt is one request of a delivery.
type DeliveryAttempt struct {
	At         time.Time `json:"at"`
	StatusCode int       `json:"statusCode" doc:"Of the answer; 0: there was none."`
	DurationMs int64     `json:"duration" doc:"Milliseconds."`
	Error      string    `json:"error,omitempty" doc:"Why it failed."`
}

// DeliveryDetail is a delivery with what is sent and what came of it.
type DeliveryDetail struct {
	Delivery
	Request    *DeliveryRequest  `json:"request,omitempty" doc:"Absent once the event is not stored any more."`
	AttemptLog []DeliveryAttempt `json:"attemptLog" doc:"The last 16 that were made, oldest first."`
}

// DeliveryRequest is the request of an attempt, without signature and time, which each attempt has its own of.
type DeliveryRequest struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers" doc:"As of the next attempt, or of the last one once it is over; X-Service-Signature and X-Service-Timestamp are made for each."`
	Body    json.RawMessage   `json:"body"`
}

// WebhookTest is what came of a made-up event.
type WebhookTest struct {
	DeliveryID   string         `json:"deliveryId"`
	Event        string         `json:"event"`
	Status       DeliveryStatus `json:"status" enum:"pending,succeeded,failed,cancelled"`
	StatusCode   int            `json:"statusCode" doc:"Of the endpoint's answer; 0: there was none."`
	Duration     Millis         `json:"duration" doc:"Milliseconds."`
	LastError    string         `json:"lastError,omitempty"`
	ResponseBody string         `json:"responseBody,omitempty" doc:"The beginning of the answer."`
}

// DeliveryRetry is a delivery that was made due by hand.
type DeliveryRetry struct {
	DeliveryID string         `json:"deliveryId"`
	WebhookID  string         `json:"webhookId"`
	Status     DeliveryStatus `json:"status" enum:"pending"`
}

// DeliveriesRetried counts deliveries that were made due by hand, or would be.
type DeliveriesRetried struct {
	WebhookID  string         `json:"webhookId"`
	Status     DeliveryStatus `json:"status" enum:"pending,failed" doc:"Of those that are counted: pending, or failed after a dry run."`
	Count      int            `json:"count" doc:"Deliveries that were made due, or would be."`
	HasMore    bool           `json:"hasMore" doc:"More may have failed; ask again for them, with cursor."`
	NextCursor string         `json:"nextCursor,omitempty"`
}
