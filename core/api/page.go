package api

import (
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// pageParams are the query parameters of every list.
func pageParams() []Param {
	return []Param{
		{Name: "limit", Type: ParamInteger, Default: strconv.Itoa(core.DefaultPageLimit), Min: 1,
			Max: core.MaxPageLimit, Doc: "Rows of the page."},
		{Name: "offset", Type: ParamInteger, Default: "0", Doc: "Rows to skip. Not together with cursor."},
		{Name: "cursor", Type: ParamString,
			Doc: "nextCursor of the page before; costs the same wherever the page lies."},
	}
}

// creatorParam selects the rows of a list by who made them.
var creatorParam = Param{Name: "createdBy", Type: ParamString, Doc: "Only those of this caller."}

// largePageParams are those of a list that has always come whole: all of it, as long as it is no longer than a page may be.
func largePageParams() []Param {
	params := pageParams()
	params[0].Default = strconv.Itoa(core.MaxPageLimit)
	return params
}

// page reads the parameters of a list.
func (c *call) page() (core.Page, error) {
	p := core.Page{
		Limit:  int(c.query.integer("limit")),
		Offset: int(c.query.integer("offset")),
		Cursor: c.query.text("cursor"),
	}
	if p.Cursor != "" && c.query.given("offset") {
		return p, core.Invalid("cursor", "cannot be combined with offset")
	}
	return p, nil
}

// listed answers with the page that the request asks for: body makes the answer of what row makes of what find returns.
func listed[T, R any](
	c *call, find func(page core.Page) ([]T, core.PageInfo, error), row func(found T) R, body func(rows []R, info wire.PageInfo) any,
) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	found, info, err := find(page)
	if err != nil {
		return answer{}, err
	}
	rows := make([]R, len(found))
	for i, one := range found {
		rows[i] = row(one)
	}
	return ok(body(rows, pageOf(page, info))), nil
}

// valueOf is the row of a list that shows what is found as it is.
func valueOf[T any](found *T) T { return *found }

func pageOf(p core.Page, info core.PageInfo) wire.PageInfo {
	return wire.PageInfo{
		Total: info.Total, AtLeast: info.AtLeast, Limit: p.Limit, Offset: p.Offset, HasMore: info.HasMore, NextCursor: info.NextCursor,
	}
}
