package core_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestTraceparent(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, tt := range []struct{ text, want string }{
		{good, good},
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"},
		{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff", good},
		{"42-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", good},
		{"42-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", good},
		{"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ""},
		{good + "-later", ""}, // version 00 ends there
		{good + "x", ""},
		{"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", ""},
		{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", ""},
		{"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", ""},
		{"00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01", ""},
		{"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ""},
		{"42-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-" + strings.Repeat("x", 1000), ""},
		{good[:54], ""}, {"", ""}, {strings.Repeat("é", 55), ""},
	} {
		if got := core.ParseTraceparent(tt.text).String(); got != tt.want {
			t.Errorf("%q is read as %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestTraceChild(t *testing.T) {
	parent := core.ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	a, b := parent.Child("a"), parent.Child("b")
	if a != parent.Child("a") || a == b || a.TraceID != parent.TraceID || !a.Sampled || a.SpanID == parent.SpanID {
		t.Errorf("the children of %v are %v and %v", parent, a, b)
	}
	if got := (core.TraceContext{}).Child("a"); !got.IsZero() {
		t.Errorf("the child of no trace is %v", got)
	}
	if got := core.TraceFrom(core.WithTrace(context.Background(), a)); got != a {
		t.Errorf("the context has %v", got)
	}
}
