package api_test

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// fakeErasures has one erasure of every subject.
type fakeErasures struct{}

func erasure() *core.Erasure {
	return &core.Erasure{ID: "era_1", Status: wire.ErasureRunning, Planned: core.DataCounts{}}
}

func (fakeErasures) Plan(context.Context, string) (*core.Erasure, error) { return erasure(), nil }

func (fakeErasures) Erase(context.Context, core.ErasureRequest) (*core.Erasure, error) {
	return erasure(), nil
}

func (fakeErasures) FindErasure(context.Context, string) (*core.Erasure, error) {
	return erasure(), nil
}

func (fakeErasures) FindErasures(context.Context, core.ErasureFilter) ([]*core.Erasure, core.PageInfo, error) {
	return []*core.Erasure{erasure()}, core.PageInfo{Total: 1}, nil
}

func (fakeErasures) Export(context.Context, string, func(core.DataItem) error) error { return nil }

// fakeCompliance finds nothing amiss.
type fakeCompliance struct{}

func (fakeCompliance) Check(_ context.Context, profile string) (*core.ComplianceReport, error) {
	if profile != "soc2" {
		return nil, core.Invalid("profile", "%q is not a profile", profile)
	}
	return &core.ComplianceReport{Profile: profile, Controls: []wire.ComplianceControl{}}, nil
}
