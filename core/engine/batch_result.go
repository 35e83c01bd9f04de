package engine

import (
	"cmp"
	"context"
	"strconv"

	"github.com/wardroom/wardroom/core"
)

// FindBatchResults implements core.BatchService. A cursor is the index of the next item.
func (e *Engine) FindBatchResults(ctx context.Context, id string, page core.Page) (*core.Batch, []core.BatchResult, core.PageInfo, error) {
	from, limit := page.Offset, cmp.Or(page.Limit, core.DefaultPageLimit)
	if page.Cursor != "" {
		index, err := strconv.ParseUint(page.Cursor, 10, 31)
		if err != nil {
			return nil, nil, core.PageInfo{}, core.Invalid("cursor", "is not the nextCursor of a page of this list")
		}
		from = int(index)
	}
	b, err := e.store.FindBatch(ctx, id)
	if err != nil {
		return nil, nil, core.PageInfo{}, err
	}
	stored, next, err := e.store.FindBatchResults(ctx, id, from, limit)
	if err != nil {
		return nil, nil, core.PageInfo{}, err
	}
	var rows []core.BatchResult
	index := from
	for ; index < b.Total && len(rows) < limit && index != next; index++ {
		if len(stored) > 0 && stored[0].Index == index {
			rows, stored = append(rows, stored[0]), stored[1:]
			continue
		}
		rows = append(rows, absentItem(b, index))
	}
	info := core.PageInfo{Total: b.Total, HasMore: index < b.Total}
	if info.HasMore {
		info.NextCursor = strconv.Itoa(index)
	}
	return b, rows, info, nil
}

// absentItem stands for an item without a stored result: it did not begin yet, or, in a batch that is over, what is stored
// of it cannot be read.
func absentItem(b *core.Batch, index int) core.BatchResult {
	if !b.Status.Terminal() {
		return core.BatchResult{Index: index, Status: core.ExecutionPending}
	}
	return core.BatchResult{
		Index: index, Status: core.ExecutionFailed,
		Error: &core.ExecutionError{Code: core.CodeInternal, Message: "what is stored of the item cannot be read"},
	}
}
