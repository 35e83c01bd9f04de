package runtime_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// FuzzSpec checks that whatever bytes a plugin reads as a spec, it can be written and read again unchanged.
func FuzzSpec(f *testing.F) {
	for _, spec := range []runtime.Spec{{}, fullSpec(), {Declared: &runtime.DeclaredType{}}} {
		raw, err := runtime.EncodeSpec(spec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		spec, ok := runtime.DecodeSpec(raw)
		if !ok {
			return
		}
		again, err := runtime.EncodeSpec(spec)
		if err != nil { // sizes beyond the wire's are refused
			return
		}
		back, ok := runtime.DecodeSpec(again)
		if !ok || !sameSpec(spec, back) {
			t.Fatalf("got  %+v\nwant %+v", back, spec)
		}
	})
}

// sameSpec compares as the contract says: by JSON, where empty and missing are the same. NaN has no JSON.
func sameSpec(a, b runtime.Spec) bool {
	if a.Limits.CPU != a.Limits.CPU {
		a.Limits.CPU, b.Limits.CPU = 0, 0
	}
	x, err := runtime.EncodeSpec(a)
	if err != nil {
		return false
	}
	y, err := runtime.EncodeSpec(b)
	return err == nil && bytes.Equal(x, y)
}

// FuzzEvent checks the same of events, which come from plugins of strangers.
func FuzzEvent(f *testing.F) {
	for _, event := range []runtime.Event{
		{}, {Agent: fullAgent(), Time: noon, Tool: &runtime.ToolCall{Name: "x", Input: map[string]any{"a": []any{1.0}}}, Exit: &runtime.Exit{Code: -1}},
	} {
		raw, err := runtime.EncodeEvent(event)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, again, ok := runtime.DecodeEvent(raw)
		if !ok {
			return
		}
		_, third, ok := runtime.DecodeEvent(again)
		if !ok || !reflect.DeepEqual(again, third) {
			t.Fatalf("an event changes when it is passed on")
		}
	})
}
