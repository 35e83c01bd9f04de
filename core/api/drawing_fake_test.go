package api_test

import (
	"context"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// fakeDrawings is a core.DrawingService that draws one step.
type fakeDrawings struct{}

func (f *fakeDrawings) DrawPattern(_ context.Context, name, version string) (*core.PatternDrawing, error) {
	if name == "missing" {
		return nil, core.NotFound("pattern", name)
	}
	return &core.PatternDrawing{Name: name, Version: version}, nil
}

func (f *fakeDrawings) DrawDefinition(_ context.Context, source string) (*core.PatternDrawing, error) {
	if !strings.HasPrefix(source, "name: ") {
		return nil, core.InvalidAll("definition", []core.Problem{{Path: "name", Line: 1, Reason: "is required"}})
	}
	return &core.PatternDrawing{Name: strings.TrimPrefix(source, "name: ")}, nil
}

func (f *fakeDrawings) DrawingSVG(d *core.PatternDrawing) []byte {
	return []byte("<svg>" + d.Name + "</svg>")
}
