package erasure_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/erasure"
	"github.com/wardroom/wardroom/sdk/wire"
)

// running is a store that holds erasures and nothing else.
type running struct {
	erasure.Store
	list []*core.ErasureRecord
}

func (r *running) AllErasures(context.Context) ([]*core.ErasureRecord, error) { return r.list, nil }

func TestEraseRefuses(t *testing.T) {
	clock := coretest.NewClock()
	s := erasure.New(erasure.Options{Store: &running{}, Clock: clock, IDs: core.NewIDs(clock)})
	s.Open()
	defer s.Close()
	for name, req := range map[string]core.ErasureRequest{
		"NoSubject":    {},
		"Blank":        {Subject: " ", Confirm: " "},
		"Long":         {Subject: strings.Repeat("a", core.MaxIndexedBytes+1)},
		"Everybody":    {Subject: core.Anonymous.ID, Confirm: core.Anonymous.ID},
		"Ourselves":    {Subject: core.System.ID, Confirm: core.System.ID},
		"NoConfirm":    {Subject: "ann"},
		"OtherConfirm": {Subject: "ann", Confirm: "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Erase(t.Context(), req); core.ErrorCode(err) != core.CodeValidation {
				t.Errorf("%v", err)
			}
		})
	}
	if err := s.Export(t.Context(), "", func(core.DataItem) error { return nil }); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("an export of nobody: %v", err)
	}
}

// Asking again while an erasure runs answers the same one.
func TestEraseTwice(t *testing.T) {
	clock := coretest.NewClock()
	have := &core.ErasureRecord{Erasure: core.Erasure{ID: "ers_1", Status: wire.ErasureRunning}, Subject: "ann"}
	s := erasure.New(erasure.Options{Store: &running{list: []*core.ErasureRecord{have}}, Clock: clock, IDs: core.NewIDs(clock)})
	if e, err := s.Erase(t.Context(), core.ErasureRequest{Subject: "ann", Confirm: "ann"}); err != nil || e.ID != "ers_1" {
		t.Errorf("%+v, %v", e, err)
	}
}
