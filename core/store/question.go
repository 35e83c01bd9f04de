package store

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// PutQuestion implements core.Tx. A question never changes its execution.
func (t *tx) PutQuestion(q *core.Question) error {
	switch {
	case q.ID == "":
		return core.Invalid("id", "must not be empty")
	case q.ExecutionID == "":
		return core.Invalid("executionId", "must not be empty")
	case !slices.Contains(core.QuestionStatuses, q.Status):
		return core.Invalid("status", "%q is not a status of a question", q.Status)
	}
	key := t.key(prefixQuestion, q.ID)
	stored, err := t.get(key)
	if err != nil {
		return err
	}
	var old core.Question
	if stored != nil {
		if err := decodeJSON("question", q.ID, stored, &old); err != nil {
			return err
		}
		if old.ExecutionID != q.ExecutionID {
			return core.Invalid("executionId", "is not the one that the question was stored with")
		}
	}
	if err := t.setJSON(key, q); err != nil || old.Status == q.Status {
		return err
	}
	if stored != nil {
		t.delete(t.take(func(b []byte) []byte { return appendQuestionIndex(b, old.ExecutionID, old.Status, q.ID) }))
		t.delete(t.take(func(b []byte) []byte { return appendQuestionIndex(b, "", old.Status, q.ID) }))
	}
	for _, f := range []core.QuestionFilter{
		{ExecutionID: q.ExecutionID, Status: q.Status}, {ExecutionID: q.ExecutionID}, {Status: q.Status},
	} {
		key := t.take(func(b []byte) []byte { return appendQuestionIndex(b, f.ExecutionID, f.Status, q.ID) })
		if err := t.set(key, nil); err != nil {
			return err
		}
	}
	return nil
}

// appendQuestionIndex makes the key of a question in the list that an execution, a status or both select; with
// neither it is the key of the question itself.
func appendQuestionIndex(dst []byte, executionID string, status core.QuestionStatus, id string) []byte {
	switch {
	case executionID != "" && status != "":
		dst = appendEscaped(append(dst, prefixQuestionByBoth...), executionID)
		dst = appendEscaped(dst, string(status))
	case executionID != "":
		dst = appendEscaped(append(dst, prefixQuestionByExecution...), executionID)
	case status != "":
		dst = appendEscaped(append(dst, prefixQuestionByStatus...), string(status))
	default:
		dst = append(dst, prefixQuestion...)
	}
	return append(dst, id...)
}

// FindQuestion implements core.QuestionReader.
func (s *Store) FindQuestion(ctx context.Context, id string) (*core.Question, error) {
	var q *core.Question
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		q, err = readQuestion(txn, id)
		return err
	})
	return q, err
}

func readQuestion(txn kv.Snapshot, id string) (*core.Question, error) {
	q := new(core.Question)
	return q, read(txn, appendKey(nil, prefixQuestion, id), "question", id, q)
}

// FindQuestions implements core.QuestionReader. Every filter walks an index of just the rows that match,
// backwards from the cursor. The total is a count over the keys of that index.
func (s *Store) FindQuestions(ctx context.Context, filter core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
	var info core.PageInfo
	if filter.Status != "" && !slices.Contains(core.QuestionStatuses, filter.Status) {
		return nil, info, core.Invalid("status", "%q is not a status of a question", filter.Status)
	}
	limit, err := pageLimit(filter.Page)
	if err != nil {
		return nil, info, err
	}
	prefix := appendQuestionIndex(nil, filter.ExecutionID, filter.Status, "")
	var end []byte
	skip := filter.Offset
	if filter.Cursor != "" {
		last, err := decodeCursor(filter.Cursor, core.PrefixQuestion, questionHash(filter))
		if err != nil {
			return nil, info, err
		}
		end, skip = append(slices.Clone(prefix), last...), 0
	}
	list := make([]*core.Question, 0, limit)
	err = s.view(ctx, func(txn kv.Snapshot) error {
		err := scanBack(txn, prefix, end, func(key []byte) (bool, error) {
			switch {
			case skip > 0:
				skip--
				return true, ctx.Err()
			case len(list) == limit:
				info.HasMore = true
				return false, nil
			}
			id := string(key[len(prefix):])
			q, err := readQuestion(txn, id)
			if err != nil {
				return s.pass(appendKey(nil, prefixQuestion, id), err)
			}
			list = append(list, q)
			return true, ctx.Err()
		})
		if err != nil {
			return err
		}
		return scan(txn, prefix, nil, false, func(_, _ []byte) (bool, error) {
			info.Total++
			return true, ctx.Err()
		})
	})
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	if info.HasMore {
		info.NextCursor = encodeCursor(list[len(list)-1].ID, questionHash(filter))
	}
	return list, info, nil
}

// questionHash stands for the filter in a cursor.
func questionHash(f core.QuestionFilter) uint64 {
	h := fnv.New64a()
	b := appendEscaped(nil, f.ExecutionID)
	_, _ = h.Write(binary.BigEndian.AppendUint16(appendEscaped(b, string(f.Status)), 'q')) // never fails
	return h.Sum64()
}

// questionKeys returns every key of an execution's questions, but for those of one that cannot be read.
func (s *Store) questionKeys(txn kv.Snapshot, executionID string) ([][]byte, error) {
	var keys [][]byte
	prefix := appendQuestionIndex(nil, executionID, "", "")
	err := scan(txn, prefix, nil, false, func(key, _ []byte) (bool, error) {
		id := string(key[len(prefix):])
		q, err := readQuestion(txn, id)
		if err != nil {
			return s.pass(appendKey(nil, prefixQuestion, id), err)
		}
		keys = append(keys, slices.Clone(key), appendKey(nil, prefixQuestion, id),
			appendQuestionIndex(nil, executionID, q.Status, id), appendQuestionIndex(nil, "", q.Status, id))
		return true, nil
	})
	return keys, err
}
