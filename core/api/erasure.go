package api

import (
	"encoding/json"
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const erasuresPath = "/api/data/erasures"

type erasureList struct {
	Erasures []core.Erasure `json:"erasures"`
	wire.PageInfo
}

// Erasures makes the operations on what is stored of a subject, which are about the data of a person.
func Erasures(service core.ErasureService) Part {
	return Part{"data", resource{wire.AuditAdmin, true, core.PrefixErasure}, erasurePart{service}.routes()}
}

type erasurePart struct{ service core.ErasureService }

// routes are about what is stored of a subject. Subjects stand in bodies, so that no log of paths names them.
func (p erasurePart) routes() []Route {
	route := routesOf("data", core.ScopeAdmin, core.ScopeAdmin)
	return []Route{
		route(http.MethodPost, "data.export", Route{
			Path: "/api/data/export", OperationID: "exportData", Summary: "Export what is stored of a subject.",
			Description: "A thing a line, each {kind, id, data}; the last line has the kind end and the number of lines before it. An export that breaks off has no such line.",
			Body:        &Body{JSON: new(wire.DataExportRequest)},
			Responses:   []Response{{Status: 200, Body: "", ContentType: "application/x-ndjson", Doc: "The things."}},
			Stream:      p.exportData,
		}),
		route(http.MethodPost, "data.erase", Route{
			Path: erasuresPath, OperationID: "eraseData", Summary: "Erase what is stored of a subject.",
			Description: "With dryRun it only tells what there is. Otherwise confirm is the subject once more. It goes on by itself, over restarts too; " +
				"asking again while it runs answers the same erasure.",
			Body: &Body{JSON: new(wire.ErasureRequest)},
			Responses: []Response{
				{Status: 200, Body: wire.Erasure{}, Doc: "A dry run: what there is."},
				{Status: 202, Body: wire.Erasure{}, Location: true, Doc: "It runs."},
			},
			Fails: []int{409}, Handle: decoded(p.eraseData),
		}),
		route(http.MethodGet, "data.read", Route{
			Path: erasuresPath, OperationID: "listErasures", Summary: "List erasures, newest first.",
			Query:     append(pageParams(), Param{Name: "createdBy", Type: ParamString, Doc: "Only those that this caller asked for."}),
			Responses: []Response{{Status: 200, Body: erasureList{}, Doc: "A page of erasures."}}, Handle: p.listErasures,
		}),
		route(http.MethodGet, "data.read", Route{
			Path: erasuresPath + "/{erasureId}", OperationID: "getErasure", Summary: "Get an erasure, with how far it is.",
			Responses: []Response{{Status: 200, Body: wire.Erasure{}, Doc: "The erasure."}}, Fails: []int{404},
			Handle: getOne("erasureId", p.service.FindErasure),
		}),
	}
}

func (p erasurePart) eraseData(c *call, req wire.ErasureRequest) (answer, error) {
	e, err := p.service.Erase(c.ctx, req)
	if err != nil {
		return answer{}, err
	}
	if req.DryRun {
		return ok(*e), nil
	}
	a := created(erasuresPath+"/"+e.ID, *e)
	a.status = http.StatusAccepted
	return a, nil
}

func (p erasurePart) listErasures(c *call) (answer, error) {
	return listed(c, func(page core.Page) ([]*core.Erasure, core.PageInfo, error) {
		return p.service.FindErasures(c.ctx, core.ErasureFilter{CreatedBy: c.query.text("createdBy"), Page: page})
	}, valueOf, func(rows []core.Erasure, info wire.PageInfo) any { return erasureList{rows, info} })
}

// exportData streams. It ends when the client takes nothing for as long as that is allowed to any.
func (p erasurePart) exportData(c *call) error {
	var req wire.DataExportRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	masks := c.masks()
	out := NewStallingWriter(c.w, c.config.StallTimeout)
	defer out.Close()
	lines := 0
	write := func(item core.DataItem) error {
		line, err := json.Marshal(item)
		if err != nil {
			return core.AsError(err)
		}
		if masks {
			line = c.s.opts.Mask.Mask(line)
		}
		if lines == 0 {
			c.w.Header()["Content-Type"] = []string{"application/x-ndjson"}
		}
		lines++
		_, err = out.Write(append(line, '\n'))
		return err
	}
	if err := p.service.Export(c.ctx, req.Subject, write); err != nil {
		return err
	}
	count, err := json.Marshal(map[string]int{"count": lines})
	if err != nil {
		return core.AsError(err)
	}
	return write(core.DataItem{Kind: "end", Data: count})
}
