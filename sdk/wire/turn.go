package wire

import "encoding/json"

// Codes of a TurnError.
const (
	TurnModelError       = "MODEL_ERROR"        // the model's provider refused the request, or ended the answer early; a repeat will end so as well
	TurnModelRateLimited = "MODEL_RATE_LIMITED" // too many requests or tokens, after the agent's own retries
	TurnModelUnavailable = "MODEL_UNAVAILABLE"  // the provider failed or could not be reached, after the agent's own retries
	TurnModelCut         = "MODEL_CUT"          // the answer broke off
	TurnHookRefused      = "HOOK_REFUSED"       // a hook of the agent's user refused the message, as it will a repeat
	TurnLoginRequired    = "LOGIN_REQUIRED"     // no credential, or one that the provider refused
	TurnAgentEnded       = "AGENT_ENDED"        // the agent's process ended within the turn
	TurnUnknown          = "TURN_UNKNOWN"       // the agent went on, and how the turn ended cannot be known
)

// TurnError is why a turn failed.
type TurnError struct {
	// Code is TurnModelError and its like; others of a later version may come.
	Code      string `json:"code" doc:"MODEL_ERROR, MODEL_RATE_LIMITED, MODEL_UNAVAILABLE, MODEL_CUT, HOOK_REFUSED, LOGIN_REQUIRED, AGENT_ENDED, TURN_UNKNOWN." example:"MODEL_RATE_LIMITED"`
	Message   string `json:"message" doc:"For people: the agent's own words, bounded and without secrets."`
	Retryable bool   `json:"retryable" doc:"The same message may well succeed later."`
}

// Usage counts what a turn used, as the agent reported it. It is never estimated: what the agent did not tell is zero,
// and a turn of an agent that tells nothing has none.
type Usage struct {
	Model            string `json:"model,omitempty"` // of the last request
	InputTokens      int64  `json:"inputTokens"`     // read, those of the cache left out
	OutputTokens     int64  `json:"outputTokens"`    // written, thinking included
	CacheReadTokens  int64  `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64  `json:"cacheWriteTokens,omitempty"`
	Requests         int64  `json:"requests,omitempty"` // to the model
	// CostUSD is the cost of the turn in US dollars, as the agent reported it; nil if it did not.
	CostUSD *float64 `json:"costUsd,omitempty"`
}

// Bounds of what is believed of one turn.
const (
	MaxTurnTokens  = 1 << 40   // of each kind, and of requests
	MaxTurnCostUSD = 1_000_000 // US dollars
)

// Bound brings the counts of u into 0 to MaxTurnTokens. A cost that is no number from 0 to MaxTurnCostUSD, which JSON may not even
// be able to hold, becomes nil: not reported.
func (u *Usage) Bound() {
	for _, n := range []*int64{&u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.Requests} {
		*n = min(max(*n, 0), MaxTurnTokens)
	}
	if u.CostUSD != nil && !(*u.CostUSD >= 0 && *u.CostUSD <= MaxTurnCostUSD) {
		u.CostUSD = nil
	}
}

// Add adds o to u: tokens, requests and costs are summed, and the model is the later one.
func (u *Usage) Add(o *Usage) {
	if o == nil {
		return
	}
	if o.Model != "" {
		u.Model = o.Model
	}
	u.InputTokens += o.InputTokens
	u.OutputTokens += o.OutputTokens
	u.CacheReadTokens += o.CacheReadTokens
	u.CacheWriteTokens += o.CacheWriteTokens
	u.Requests += o.Requests
	if o.CostUSD != nil {
		cost := *o.CostUSD
		if u.CostUSD != nil {
			cost += *u.CostUSD
		}
		u.CostUSD = &cost
	}
}

// Tokens returns all tokens that were read and written.
func (u *Usage) Tokens() int64 {
	if u == nil {
		return 0
	}
	return u.InputTokens + u.OutputTokens + u.CacheReadTokens + u.CacheWriteTokens
}

// TurnOutcome is how a turn ended, beside its text. A turn that failed has no text.
type TurnOutcome struct {
	Interrupted bool       `json:"interrupted,omitempty" doc:"Somebody stopped the turn."`
	Refused     bool       `json:"refused,omitempty" doc:"An approval was refused in the turn; text is what the agent said to it."`
	Error       *TurnError `json:"error,omitempty" doc:"The turn failed: there is no text."`
	Usage       *Usage     `json:"usage,omitempty" doc:"What the turn used, where the agent tells. Never estimated."`
}

// TurnResponse is the answer of a turn. Its JSON has a text, be it empty, unless Error is set.
type TurnResponse struct {
	Text       string `json:"text,omitempty" doc:"What the agent said in the turn. Not there when the turn failed, see error."`
	Turn       int    `json:"turn" doc:"Number of the turn, from 1."`
	DurationMs int64  `json:"durationMs"`
	TurnOutcome
}

// MarshalJSON leaves the text of a failed turn out: nothing of it may be taken for an answer.
func (r TurnResponse) MarshalJSON() ([]byte, error) {
	type plain struct {
		Text       *string `json:"text,omitempty"`
		Turn       int     `json:"turn"`
		DurationMs int64   `json:"durationMs"`
		TurnOutcome
	}
	p := plain{Turn: r.Turn, DurationMs: r.DurationMs, TurnOutcome: r.TurnOutcome}
	if r.Error == nil {
		p.Text = &r.Text
	}
	return json.Marshal(p)
}
