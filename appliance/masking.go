package appliance

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/masking"
)

// maskingKeyFile holds the key of masked values that are hashed; after a restore without it the same values have other
// hashes. It is not in dumps.
const maskingKeyFile = "masking.key"

// phiFields are what people put into executions and agents make of it.
var phiFields = []string{"input.**", "inputs.**", "result.**", "results.**", "output.**", "outputs.**", "metadata.**"}

// applyMasking takes over which fields are masked.
func (a *App) applyMasking(c *config.Config) error {
	m := &c.Security.DataProtection.Masking
	rules := masking.Config{Enabled: m.Enabled, Fields: m.Fields, Method: m.Method}
	if h := &c.Security.Compliance.HIPAA; h.Enabled && h.PHI.MinimumNecessary {
		if !m.Enabled {
			rules.Fields = nil
		}
		rules.Enabled, rules.Fields = true, append(slices.Clone(rules.Fields), phiFields...)
	}
	if rules.Enabled && m.Method == masking.Hash {
		var err error
		if rules.Key, err = sealKey(c.Store.Path, maskingKeyFile); err != nil {
			return err
		}
	}
	return a.masker.Apply(rules)
}

// warnUnmatched reports paths of masked fields that name nothing known: they may be misspelt. They count for what comes
// later all the same.
func (a *App) warnUnmatched(ctx context.Context) {
	if !a.masker.Active() {
		return
	}
	known := a.api.Fields()
	list, err := a.store.AllPatterns(ctx)
	if err != nil {
		a.log.Warn("which masked fields patterns have could not be read", "error", err)
	}
	names := map[string]bool{}
	for _, p := range list {
		if names[p.Name+"@"+p.Version] {
			continue
		}
		names[p.Name+"@"+p.Version] = true
		if whole, err := a.patterns.FindPattern(ctx, p.Name, p.Version); err == nil {
			known = appendPatternFields(known, whole)
		}
	}
	for _, path := range a.masker.Unmatched(known) {
		a.log.Warn("a path of security.dataProtection.masking.fields names no field of answers and of inputs and outputs of patterns; is it misspelt?", "path", path)
	}
}

// appendPatternFields appends the inputs and outputs that a pattern declares.
func appendPatternFields(known [][]string, p *core.Pattern) [][]string {
	var declared struct {
		Input    map[string]json.RawMessage `json:"input"`
		Output   json.RawMessage            `json:"output"`
		Workflow struct {
			Input map[string]json.RawMessage `json:"input"`
		} `json:"workflow"`
	}
	if json.Unmarshal(p.Definition, &declared) != nil {
		return known
	}
	for _, inputs := range []map[string]json.RawMessage{declared.Input, declared.Workflow.Input} {
		for _, name := range slices.Sorted(maps.Keys(inputs)) {
			known = append(known, []string{"input", name}, []string{"input", name, masking.Open})
		}
	}
	outputs := map[string]json.RawMessage{}
	if json.Unmarshal(declared.Output, &outputs) == nil {
		for _, name := range slices.Sorted(maps.Keys(outputs)) {
			known = append(known, []string{"result", name}, []string{"result", name, masking.Open})
		}
	}
	return known
}

// maskedLogger masks the values of lines before they are written.
type maskedLogger struct {
	hclog.Logger
	mask core.Masker
}

func (l maskedLogger) masked(args []any) []any {
	if !l.mask.Active() {
		return args
	}
	own := slices.Clone(args)
	for i := 0; i+1 < len(own); i += 2 {
		name, ok := own[i].(string)
		if !ok {
			continue
		}
		switch value := own[i+1].(type) {
		case string:
			own[i+1] = l.mask.MaskText(name, value)
		case []byte:
			own[i+1] = l.mask.MaskText(name, string(value))
		case json.RawMessage:
			own[i+1] = l.mask.MaskText(name, string(value))
		case error:
			if text := value.Error(); l.mask.MaskText(name, text) != text {
				own[i+1] = l.mask.MaskText(name, text)
			}
		}
	}
	return own
}

// Log implements hclog.Logger.
func (l maskedLogger) Log(level hclog.Level, msg string, args ...any) {
	l.Logger.Log(level, msg, l.masked(args)...)
}

// Trace implements hclog.Logger.
func (l maskedLogger) Trace(msg string, args ...any) { l.Logger.Trace(msg, l.masked(args)...) }

// Debug implements hclog.Logger.
func (l maskedLogger) Debug(msg string, args ...any) { l.Logger.Debug(msg, l.masked(args)...) }

// Info implements hclog.Logger.
func (l maskedLogger) Info(msg string, args ...any) { l.Logger.Info(msg, l.masked(args)...) }

// Warn implements hclog.Logger.
func (l maskedLogger) Warn(msg string, args ...any) { l.Logger.Warn(msg, l.masked(args)...) }

// Error implements hclog.Logger.
func (l maskedLogger) Error(msg string, args ...any) { l.Logger.Error(msg, l.masked(args)...) }

// With implements hclog.Logger.
func (l maskedLogger) With(args ...any) hclog.Logger {
	return maskedLogger{l.Logger.With(l.masked(args)...), l.mask}
}

// Named implements hclog.Logger.
func (l maskedLogger) Named(name string) hclog.Logger {
	return maskedLogger{l.Logger.Named(name), l.mask}
}

// ResetNamed implements hclog.Logger.
func (l maskedLogger) ResetNamed(name string) hclog.Logger {
	return maskedLogger{l.Logger.ResetNamed(name), l.mask}
}
