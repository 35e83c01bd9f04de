package wire

import "time"

// ComplianceProfiles are the profiles that can be checked.
var ComplianceProfiles = []string{"soc2", "gdpr", "hipaa"}

// ComplianceControl is one thing that a profile asks for, and what was found.
type ComplianceControl struct {
	ID       string   `json:"id" example:"encryption.atRest"`
	Title    string   `json:"title"`
	Passed   bool     `json:"passed"`
	Evidence string   `json:"evidence" doc:"What was found in the running system."`
	Keys     []string `json:"keys" doc:"Keys of the configuration that it goes by."`
}

// ComplianceReport is the result of a check of a profile.
type ComplianceReport struct {
	Profile   string              `json:"profile" enum:"soc2,gdpr,hipaa"`
	Enabled   bool                `json:"enabled" doc:"The profile is enforced: a configuration that contradicts it is refused."`
	Passed    bool                `json:"passed" doc:"Every control passed."`
	Failed    int                 `json:"failed" doc:"Controls that did not."`
	CheckedAt time.Time           `json:"checkedAt"`
	Version   string              `json:"version" doc:"Of the server."`
	Controls  []ComplianceControl `json:"controls"`
}
