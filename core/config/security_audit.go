package config

import (
	"net/url"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Audit is the record of who did what.
type Audit struct {
	// Record who did what, and what was refused.
	Enabled bool `json:"enabled"`
	// Categories that are recorded: authentication, authorization, patterns, executions, agents, admin. Empty: all.
	Events []string `json:"events" check:"is=auditCategory"`
	// How much records say. minimal: who did what to what, from where, and what came of it. standard: with the request,
	// with details that hold no text of users, and what failed as well. verbose: also what was read, and the texts of
	// requests, answers and terminals, with secrets masked.
	Level string `json:"level" default:"standard" enum:"minimal,standard,verbose"`
	// What becomes of what cannot be recorded. blocking: it does not happen, and the request gets 503. buffered: requests
	// go on, and how many records were lost is recorded as soon as there is room.
	Mode string `json:"mode" default:"buffered" enum:"buffered,blocking"`
	// How long records are kept in the store. Never less than until every sink has them. 0: for ever.
	Retention time.Duration `json:"retention" default:"90d" check:"min=0s,max=3650d"`
	// What the records in the store may take. Beyond that those that every sink has go whatever their age; where none may
	// go, security.audit.mode decides.
	MaxSize int64 `json:"maxSize" default:"1GiB" check:"size,min=1MiB"`
	// Records of refusals and the like that may wait in memory for the store, in the mode buffered.
	Queue int `json:"queue" default:"10000" check:"min=100,max=1000000"`
	// Where records go besides the store: the plugin audit-file, audit-elasticsearch, audit-splunk or audit-cloudwatch, with
	// the settings below. Empty: nowhere; plugins of the kind audit in plugins get them in any case.
	Destination string `json:"destination" enum:",file,elasticsearch,splunk,cloudwatch" reload:"restart"`
	// Files.
	File AuditFile `json:"file" reload:"restart"`
	// Elasticsearch or OpenSearch.
	Elasticsearch AuditElasticsearch `json:"elasticsearch" reload:"restart"`
	// Splunk, over its HTTP Event Collector.
	Splunk AuditSplunk `json:"splunk" reload:"restart"`
	// Amazon CloudWatch Logs.
	CloudWatch AuditCloudWatch `json:"cloudwatch" reload:"restart"`
}

// AuditFile is where the plugin audit-file writes.
type AuditFile struct {
	// File of JSON lines. Empty: audit.log in the directory of the plugin.
	Path string `json:"path" check:"path"`
	// When a new file is begun.
	Rotation AuditRotation `json:"rotation"`
}

// AuditRotation is when a new file is begun.
type AuditRotation struct {
	// Size of a file from which on a new one is begun.
	MaxSize int64 `json:"maxSize" default:"100MiB" check:"size,min=64KiB"`
	// Age of a file from which on a new one is begun. 0: any.
	MaxAge time.Duration `json:"maxAge" default:"24h" check:"min=0s,max=3650d"`
	// Compress the former files.
	Compress bool `json:"compress"`
}

// AuditElasticsearch is where the plugin audit-elasticsearch writes.
type AuditElasticsearch struct {
	// Addresses, such as https://search.example.com:9200. The next one is used where one does not answer.
	Hosts []string `json:"hosts" check:"is=url"`
	// Data stream that records go to. Its index template is made if there is none.
	Index string `json:"index" default:"wardroom-audit"`
	// User.
	Username string `json:"username"`
	// Password, best as a reference to the environment. It is never shown.
	Password Secret `json:"password"`
}

// AuditSplunk is where the plugin audit-splunk writes.
type AuditSplunk struct {
	// Host name or address of the collector.
	Host string `json:"host"`
	// Its port.
	Port int `json:"port" default:"8088" check:"min=1,max=65535"`
	// Token of the collector, best as a reference to the environment. It is never shown.
	Token Secret `json:"token"`
	// Index that records go to. Empty: that of the token.
	Index string `json:"index"`
}

// AuditCloudWatch is where the plugin audit-cloudwatch writes. Credentials come from its environment, from files of the AWS
// tools or from the machine.
type AuditCloudWatch struct {
	// Log group; it must be there.
	LogGroup string `json:"logGroup"`
	// Region, such as eu-central-1.
	Region string `json:"region"`
}

// Categories returns the categories that are recorded.
func (a Audit) Categories() []string {
	if len(a.Events) == 0 {
		return wire.AuditCategories
	}
	return a.Events
}

// audit reports what contradicts itself in the section.
func (r *ruling) audit(a *Audit) {
	const at = "security.audit"
	switch a.Destination {
	case "elasticsearch":
		if len(a.Elasticsearch.Hosts) == 0 {
			r.refuse(at+".elasticsearch", "hosts", "is missing: name at least one address")
		}
		for _, host := range a.Elasticsearch.Hosts {
			if u, err := url.Parse(host); err == nil && u.Scheme == "http" && !a.Elasticsearch.Password.IsZero() && !secureOrLoopback(host) {
				r.refuse(at+".elasticsearch", "hosts", "must be https where there is a password")
			}
		}
		if a.Elasticsearch.Username != "" && a.Elasticsearch.Password.IsZero() {
			r.refuse(at+".elasticsearch", "password", "is missing for the user")
		}
		if a.Elasticsearch.Username == "" && !a.Elasticsearch.Password.IsZero() {
			r.refuse(at+".elasticsearch", "username", "is missing for the password, which would not be sent")
		}
	case "splunk":
		if a.Splunk.Host == "" {
			r.refuse(at+".splunk", "host", "is missing: name the host of the collector")
		}
		if a.Splunk.Token.IsZero() {
			r.refuse(at+".splunk", "token", "is missing: give the token of the collector")
		}
	case "cloudwatch":
		if a.CloudWatch.LogGroup == "" {
			r.refuse(at+".cloudwatch", "logGroup", "is missing: name the log group")
		}
		if a.CloudWatch.Region == "" {
			r.refuse(at+".cloudwatch", "region", "is missing: name the region")
		}
	}
	if !a.Enabled && a.Destination != "" {
		r.refuse(at, "destination", "is given, but security.audit.enabled is not: nothing would be recorded")
	}
}
