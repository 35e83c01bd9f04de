package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PatternDrawing is what there is to draw of a pattern.
type PatternDrawing = wire.PatternDrawing

// DrawingService draws patterns. Both methods that draw return VALIDATION_ERROR for a pattern with more steps than are drawn.
// Methods are safe for concurrent use.
type DrawingService interface {
	// DrawPattern draws the version that PatternService.FindPattern finds, with its errors.
	DrawPattern(ctx context.Context, name, version string) (*PatternDrawing, error)
	// DrawDefinition draws a definition that is not stored. VALIDATION_ERROR with every problem that
	// PatternService.CheckPattern finds.
	DrawDefinition(ctx context.Context, source string) (*PatternDrawing, error)
	// DrawingSVG renders a drawing as one self-contained SVG without script.
	DrawingSVG(d *PatternDrawing) []byte
}
