// Package compliance says what the profiles soc2, gdpr and hipaa ask for.
//
// It owns the controls of each profile, and the report. It does not own how a control is proved: appliance hands it probes,
// which look at the running parts; nor what keeps a configuration from contradicting a profile, which is core/config's.
// core/api asks it.
package compliance
