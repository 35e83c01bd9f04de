package wire

import (
	"encoding/json"
	"time"
)

// SignatureScheme is how the requests to a trigger prove where they come from.
type SignatureScheme string

// Signature schemes.
const (
	SchemeWardroom SignatureScheme = "wardroom" // X-Service-Signature over X-Service-Timestamp and body, as webhooks of Wardroom
	SchemeGitHub   SignatureScheme = "github"   // X-Hub-Signature-256 over the body
	SchemeGitLab   SignatureScheme = "gitlab"   // X-Gitlab-Token, which is the secret itself
)

// TriggerOutcome is what became of a request to a trigger.
type TriggerOutcome string

// Outcomes of requests whose signature was good.
const (
	TriggerStarted   TriggerOutcome = "started"
	TriggerDuplicate TriggerOutcome = "duplicate" // it was taken before
	TriggerIgnored   TriggerOutcome = "ignored"   // of an event that the trigger does not want
	TriggerFailed    TriggerOutcome = "failed"
	TriggerBlocked   TriggerOutcome = "blocked" // a right was missing
)

// TriggerRun is one entry of the history of a trigger.
type TriggerRun struct {
	At       time.Time      `json:"at"`
	Outcome  TriggerOutcome `json:"outcome" enum:"started,failed,blocked"`
	Delivery string         `json:"delivery,omitempty" doc:"The sender's own id of the request."`
	Event    string         `json:"event,omitempty" doc:"The sender's name of what happened."`
	Reason   string         `json:"reason,omitempty" doc:"Why nothing was started."`
	Code     Code           `json:"code,omitempty"`
	RunRef
}

// TriggerCounts count requests with a good signature by what became of them. What starts nothing is in the metrics only.
type TriggerCounts struct {
	Started int64 `json:"started"`
	Failed  int64 `json:"failed"`
	Blocked int64 `json:"blocked"`
}

// Trigger starts something when a signed request comes in. It is never stored as it is: Secret is in clear where it is
// shown.
type Trigger struct {
	ID              string            `json:"id"`
	Name            string            `json:"name"`
	Path            string            `json:"path" doc:"Where requests go." example:"/api/hooks/trig_01JGFJJZ8N4Q1W0000000000AB"`
	Scheme          SignatureScheme   `json:"scheme" enum:"wardroom,github,gitlab"`
	Secret          string            `json:"secret" doc:"Masked, but for the one answer after it was made." example:"trgsec_***"`
	SecretRotatesAt *time.Time        `json:"secretRotatesAt,omitempty" doc:"Until then the former secret is taken as well."`
	Enabled         bool              `json:"enabled"`
	BlockedReason   string            `json:"blockedReason,omitempty" doc:"Why the last request was refused: whoever the trigger belongs to lacks a right. Each request asks again."`
	Events          []string          `json:"events" doc:"Names of what happened that it wants; empty: all."`
	Mapping         map[string]string `json:"mapping" doc:"Fields of the input, and where their values are. Empty: the body is the input."`
	RatePerMinute   int               `json:"ratePerMinute"`
	Target          Target            `json:"target"`
	RunsAs          string            `json:"runsAs" doc:"Whose rights its runs have: of who gave it its present content."`
	LastRun         *TriggerRun       `json:"lastRun,omitempty"`
	Counts          TriggerCounts     `json:"counts"`
	Runs            []TriggerRun      `json:"runs,omitzero" doc:"The last requests that were to start something, newest first, 50 at most. Left out of lists."`
	CreatedBy       string            `json:"createdBy"`
	CreatedAt       time.Time         `json:"createdAt"`
	UpdatedAt       time.Time         `json:"updatedAt"`
}

// TriggerSpec asks for a trigger, without what it is to start. Its bounds keep nonsense out; the service checks the rest.
type TriggerSpec struct {
	Name          string            `json:"name" check:"required,min=1,max=100" doc:"Unique among triggers." example:"on-push"`
	Scheme        SignatureScheme   `json:"scheme,omitempty" enum:"wardroom,github,gitlab" doc:"How requests are signed. Default: wardroom."`
	Secret        string            `json:"secret,omitempty" check:"min=16,max=1024" doc:"That requests are signed with. Default: one is made."`
	Events        []string          `json:"events,omitempty" check:"max=100" doc:"Names of what happened that it wants, as X-GitHub-Event, X-Gitlab-Event or X-Service-Event says. Default: all." example:"[\"push\"]"`
	Mapping       map[string]string `json:"mapping,omitempty" doc:"Fields of the input, and where their values are: a path into the body such as $.repository.full_name, or header:NAME. Default: the body is the input. Of a thread: objective only." example:"{\"repo\":\"$.repository.full_name\"}"`
	RatePerMinute int               `json:"ratePerMinute,omitempty" check:"min=1,max=6000" doc:"Requests that it takes. Default: 60."`
	Disabled      bool              `json:"disabled,omitempty" doc:"Make it disabled."`
}

// TriggerReceipt answers a request to a trigger.
type TriggerReceipt struct {
	TriggerID string         `json:"triggerId"`
	Outcome   TriggerOutcome `json:"outcome" enum:"started,duplicate,ignored"`
	RunRef
}

// TriggerTrial describes what a body would start.
type TriggerTrial struct {
	Outcome   TriggerOutcome  `json:"outcome" enum:"started,ignored"`
	Input     json.RawMessage `json:"input,omitempty" doc:"Of the execution that would be started."`
	Objective string          `json:"objective,omitempty" doc:"Of the thread that would be spawned."`
}
