package plugintest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtimetest"
	"github.com/wardroom/wardroom/sdk/secret"
)

var secrets = map[string]string{"db#password": "correct-horse-battery", "token": "staple-in-the-hay"}

// definition is the plugin that the tests start.
func definition(kind plugin.Kind) plugin.Definition {
	return plugin.Definition{
		Name: "test-" + string(kind), Version: "0.1.0", Kind: kind,
		Schema:   []byte(`{"type": "object", "additionalProperties": false, "properties": {"greeting": {"type": "string"}}}`),
		Examples: []json.RawMessage{json.RawMessage(`{"greeting": "hello"}`)},
		Configure: func(_ context.Context, _ json.RawMessage, host plugin.Host) (plugin.Service, error) {
			host.Logger().Info("configured")
			switch kind {
			case plugin.KindSecret:
				return plugin.Service{Secret: store{}}, nil
			case plugin.KindAudit:
				return plugin.Service{Audit: &fileSink{path: filepath.Join(host.StateDir(), "audit.jsonl")}}, nil
			default:
				world := runtimetest.NewWorld()
				rt := world.Runtime()
				return plugin.Service{Runtime: rt, Close: func(context.Context) error { rt.Kill(); world.Close(); return nil }}, nil
			}
		},
	}
}

// store has two secrets.
type store struct{ secret.Unimplemented }

func (store) Resolve(ctx context.Context, refs []secret.Ref, _ secret.Caller) ([]secret.Result, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	results := make([]secret.Result, 0, len(refs))
	for _, ref := range refs {
		result := secret.Result{Ref: ref}
		if value, ok := secrets[ref.String()]; ok {
			result.Value = secret.NewValue([]byte(value), "1", time.Time{})
		} else {
			result.Error = secret.Errorf(secret.CodeNotFound, "there is no secret %s", ref)
		}
		results = append(results, result)
	}
	return results, nil
}

// fileSink keeps records in a file, synced before it acknowledges them.
type fileSink struct {
	path string
	kept uint64
}

func (s *fileSink) Open(context.Context, uint64) (uint64, error) {
	records, err := readRecords(s.path)
	if err != nil {
		return 0, err
	}
	s.kept = uint64(len(records))
	return s.kept, nil
}

func (s *fileSink) Write(_ context.Context, batch []audit.Record) (uint64, error) {
	for i, record := range batch {
		if i > 0 && record.Sequence != batch[i-1].Sequence+1 || record.Sequence > s.kept+1 && i == 0 {
			return s.kept, audit.Errorf(audit.CodeInvalidArgument, "record %d leaves a gap", record.Sequence)
		}
	}
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return s.kept, err
	}
	defer func() { _ = file.Close() }()
	for _, record := range batch {
		if record.Sequence <= s.kept {
			continue
		}
		if _, err := file.Write(append(record.JSON, '\n')); err != nil {
			return s.kept, err
		}
	}
	if err := file.Sync(); err != nil {
		return s.kept, err
	}
	if n := len(batch); n > 0 {
		s.kept = max(s.kept, batch[n-1].Sequence)
	}
	return s.kept, nil
}

func (s *fileSink) Flush(context.Context) (uint64, error) { return s.kept, nil }

func readRecords(path string) ([][]byte, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var records [][]byte
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		records = append(records, append([]byte(nil), lines.Bytes()...))
	}
	return records, lines.Err()
}
