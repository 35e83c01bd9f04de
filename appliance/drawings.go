package appliance

import (
	"context"

	"github.com/wardroom/wardroom/appliance/chartdraw"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

// drawings implements core.DrawingService.
type drawings struct{ patterns *pattern.Service }

var _ core.DrawingService = drawings{}

func (d drawings) DrawPattern(ctx context.Context, name, version string) (*core.PatternDrawing, error) {
	p, plan, err := d.patterns.Resolve(ctx, name, version)
	if err != nil {
		return nil, err
	}
	if err := chartdraw.Fits(plan); err != nil {
		return nil, err
	}
	return (*core.PatternDrawing)(chartdraw.New(plan, p.Definition)), nil
}

func (d drawings) DrawDefinition(ctx context.Context, source string) (*core.PatternDrawing, error) {
	plan, problems := d.patterns.CheckPlan(ctx, source)
	if len(problems) > 0 {
		return nil, core.InvalidAll("definition", problems)
	}
	if err := chartdraw.Fits(plan); err != nil {
		return nil, err
	}
	return (*core.PatternDrawing)(chartdraw.New(plan, plan.JSON())), nil
}

func (d drawings) DrawingSVG(drawing *core.PatternDrawing) []byte {
	return (*chartdraw.Drawing)(drawing).SVG()
}
