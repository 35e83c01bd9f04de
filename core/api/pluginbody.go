package api

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

type pluginList struct {
	Plugins []*wire.Plugin `json:"plugins"`
	Total   int            `json:"total"`
}

type pluginLogList struct {
	Logs []wire.PluginLogLine `json:"logs"`
	Tail int                  `json:"tail"`
}

// newPluginDetail returns a plugin as it is read. What it says itself may be no JSON.
func newPluginDetail(p *core.PluginDetail) *wire.PluginDetail {
	body := *p
	body.Schema, body.Examples = rawValue(p.Schema), slices.Clone(p.Examples)
	for i, example := range body.Examples {
		body.Examples[i] = rawValue(example)
	}
	return &body
}

// rawValue is JSON from elsewhere, or null when it is none.
func rawValue(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return json.RawMessage("null")
	}
	return raw
}

// endOf returns the error that a stream ends with: io.EOF for a log that ended by itself.
func endOf(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}
