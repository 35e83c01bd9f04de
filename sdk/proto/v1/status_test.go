package pluginv1_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

func TestStatusRoundTrip(t *testing.T) {
	for code, want := range map[string]codes.Code{
		"INVALID_SPEC": codes.InvalidArgument, "NOT_FOUND": codes.NotFound, "RESOURCE_LIMIT": codes.ResourceExhausted,
		"UNAVAILABLE": codes.Unavailable, "TIMEOUT": codes.DeadlineExceeded, "INTERNAL": codes.Internal, "OF_THE_FUTURE": codes.Internal,
	} {
		detail := &pluginv1.ErrorDetail{Code: code, Message: "m", Field: "f", Hint: "h", Retryable: true}
		err := detail.Status()
		if got := status.Code(err); got != want {
			t.Errorf("%s: status %s, want %s", code, got, want)
		}
		if got := pluginv1.Detail(fmt.Errorf("wrapped: %w", err)); !proto.Equal(got, detail) {
			t.Errorf("%s: came back as %v", code, got)
		}
	}
}

func TestStatusIsUTF8(t *testing.T) {
	got := pluginv1.Detail((&pluginv1.ErrorDetail{Code: "INTERNAL", Message: "a\xffb"}).Status())
	if got.Message != "a\uFFFDb" {
		t.Errorf("message %q", got.Message)
	}
}

// What a plugin says is cut, and reaches those who ask for it, however long it is.
func TestStatusIsBounded(t *testing.T) {
	long := strings.Repeat("é", 20<<20)
	got := pluginv1.Detail((&pluginv1.ErrorDetail{Code: long, Message: long, Field: long, Hint: long, Retryable: true}).Status())
	if !got.Retryable || len(got.Code) > 100 || len(got.Message) > 2010 || len(got.Field) > 2010 || len(got.Hint) > 2010 ||
		!strings.HasSuffix(got.Message, "é...") || !utf8.ValidString(got.Code) {
		t.Errorf("%d, %d, %d and %d bytes", len(got.Code), len(got.Message), len(got.Field), len(got.Hint))
	}
	if (*pluginv1.ErrorDetail)(nil).Clipped() != nil {
		t.Error("of none there is one")
	}
}

func TestDetailOfBareErrors(t *testing.T) {
	for _, tt := range []struct {
		err   error
		code  string
		retry bool
		cause error
	}{
		{status.Error(codes.Canceled, "x"), "CANCELED", false, context.Canceled},
		{context.Canceled, "CANCELED", false, context.Canceled},
		{status.Error(codes.DeadlineExceeded, "x"), "TIMEOUT", true, context.DeadlineExceeded},
		{context.DeadlineExceeded, "TIMEOUT", true, context.DeadlineExceeded},
		{status.Error(codes.Unavailable, "dial unix /x"), "UNAVAILABLE", true, nil},
		{status.Error(codes.Unimplemented, "x"), "UNIMPLEMENTED", false, nil},
		{status.Error(codes.PermissionDenied, "x"), "FORBIDDEN", false, nil},
		{status.Error(codes.ResourceExhausted, "x"), "RESOURCE_LIMIT", false, nil},
		{status.Error(codes.Unknown, "secret"), "INTERNAL", false, nil},
		{errors.New("secret"), "INTERNAL", false, nil},
	} {
		d := pluginv1.Detail(tt.err)
		if d.Code != tt.code || d.Retryable != tt.retry || d.Message == "" || d.Message == "secret" {
			t.Errorf("%v became %v", tt.err, d)
		}
		if got := pluginv1.Context(tt.err); !errors.Is(got, tt.cause) {
			t.Errorf("%v has the cause %v", tt.err, got)
		}
	}
	if pluginv1.Detail(nil) != nil || pluginv1.Context(nil) != nil || pluginv1.Detail(status.Error(codes.OK, "")) != nil {
		t.Error("success has a detail")
	}
	// A TIMEOUT that the plugin itself decided on is not the end of the caller's context.
	late := (&pluginv1.ErrorDetail{Code: "TIMEOUT", Message: "the turn did not end"}).Status()
	if cause := pluginv1.Context(late); cause != nil {
		t.Errorf("it has the cause %v", cause)
	}
	if got := status.Code(pluginv1.ContextStatus(context.Canceled)); got != codes.Canceled {
		t.Errorf("a cancelled handler has the status %s", got)
	}
	if err := pluginv1.ContextStatus(errors.New("other")); err != nil {
		t.Errorf("another error became %v", err)
	}
}

// A time that no calendar has, as a foreign plugin may send it, is none: JSON has no form for it.
func TestUnstampGarbage(t *testing.T) {
	for _, garbage := range []*timestamppb.Timestamp{nil, {Seconds: 1 << 60}, {Seconds: -1 << 60}, {Nanos: -1}, timestamppb.New(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))} {
		at := pluginv1.Unstamp(garbage)
		if _, err := json.Marshal(at); err != nil || !at.IsZero() {
			t.Errorf("%v becomes %v: %v", garbage, at, err)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	if got := pluginv1.Unstamp(pluginv1.Stamp(at)); !got.Equal(at) {
		t.Errorf("%v becomes %v", at, got)
	}
}
