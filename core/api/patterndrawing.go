package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const svgType = "image/svg+xml"

// svgCSP lets a picture that a browser shows by itself have its own style, and nothing else.
var svgCSP = []string{"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}

// drawingRoutes are there when the service draws patterns.
func (s *Server) drawingRoutes() []Route {
	if s.opts.Drawings == nil {
		return nil
	}
	base := Route{
		Tag: "patterns", Resource: "patterns", Action: "patterns.read", Scope: "patterns:read",
		Responses: []Response{
			{Status: 200, Body: wire.PatternDrawing{}, Doc: "What there is to draw."},
			{Status: 200, Body: "", ContentType: svgType, Doc: "Or one self-contained picture without script."},
		},
	}
	format := Param{Name: "format", Type: ParamString, Default: "json", Enum: []string{"json", "svg"},
		Doc: "json is what there is to draw, svg one self-contained picture, light or dark as the reader prefers."}
	stored, draft := base, base
	stored.Method, stored.Path, stored.OperationID = http.MethodGet, "/api/patterns/{name}/drawing", "getPatternDrawing"
	stored.Summary = "Draw the roles and the steps of one version of a pattern."
	stored.Description = "A pattern of more than 2000 steps is not drawn: 400."
	stored.Query = []Param{versionParam, format}
	stored.Fails, stored.Handle = []int{404}, s.getPatternDrawing
	draft.Method, draft.Path, draft.OperationID = http.MethodPost, "/api/patterns/drawing", "drawPattern"
	draft.Summary = "Draw a definition without storing it."
	draft.Description = "A definition that is not valid is refused with every problem, each as POST /api/patterns/validate has it; " +
		"so is one of more than 2000 steps."
	draft.Query = []Param{format}
	draft.Body = &Body{JSON: new(wire.ValidateRequest), YAML: true, Limit: "definition"}
	draft.Fails, draft.Handle = []int{413}, s.drawPattern
	return []Route{stored, draft}
}

func (s *Server) getPatternDrawing(c *call) (answer, error) {
	d, err := s.opts.Drawings.DrawPattern(c.ctx, c.param("name"), c.query.text("version"))
	if err != nil {
		return answer{}, err
	}
	return s.drawing(c, d)
}

func (s *Server) drawPattern(c *call) (answer, error) {
	source, err := c.draft()
	if err != nil {
		return answer{}, err
	}
	d, err := s.opts.Drawings.DrawDefinition(context.WithoutCancel(c.ctx), source)
	if err != nil {
		return answer{}, err
	}
	return s.drawing(c, d)
}

// drawing answers with a drawing in the format that was asked for. A picture is made of what the caller may read in clear.
func (s *Server) drawing(c *call, d *core.PatternDrawing) (answer, error) {
	if c.query.text("format") != "svg" {
		return ok(d), nil
	}
	if c.masks() {
		masked := new(core.PatternDrawing)
		if json.Unmarshal(s.opts.Mask.Mask(ok(d).bytesOf()), masked) != nil {
			return answer{}, core.Errorf(core.CodeForbidden, "what is drawn is masked for you, and there is no picture of it: ask for format=json; %s", unmaskedHint)
		}
		d = masked
	}
	c.w.Header()["Content-Security-Policy"] = svgCSP
	return answer{status: http.StatusOK, raw: s.opts.Drawings.DrawingSVG(d), typ: svgType}, nil
}
