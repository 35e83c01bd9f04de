package runtime

import pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"

// outcomeToProto leaves an outcome out that says nothing.
func outcomeToProto(o *TurnOutcome) *pluginv1.TurnOutcome {
	if *o == (TurnOutcome{}) {
		return nil
	}
	out := &pluginv1.TurnOutcome{Interrupted: o.Interrupted, Refused: o.Refused}
	if e := o.Error; e != nil {
		out.Error = &pluginv1.TurnError{Code: text(e.Code), Message: text(e.Message), Retryable: e.Retryable}
	}
	if u := o.Usage; u != nil {
		out.Usage = &pluginv1.TurnUsage{
			Model: text(u.Model), InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens,
			CacheWriteTokens: u.CacheWriteTokens, Requests: u.Requests, CostUsd: u.CostUSD,
		}
	}
	return out
}

func outcomeFromProto(o *pluginv1.TurnOutcome) TurnOutcome {
	if o == nil {
		return TurnOutcome{}
	}
	out := TurnOutcome{Interrupted: o.Interrupted, Refused: o.Refused}
	if e := o.Error; e != nil {
		out.Error = &TurnError{Code: e.Code, Message: e.Message, Retryable: e.Retryable}
	}
	if u := o.Usage; u != nil {
		out.Usage = &Usage{
			Model: u.Model, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens,
			CacheWriteTokens: u.CacheWriteTokens, Requests: u.Requests, CostUSD: u.CostUsd,
		}
		out.Usage.Bound()
	}
	return out
}
