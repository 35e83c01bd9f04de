package wire

import "time"

// SecretProvider is where secrets come from.
type SecretProvider struct {
	Name    string `json:"name" doc:"What references begin with."`
	Plugin  string `json:"plugin,omitempty" doc:"The plugin that it is; missing for one that is built in."`
	Status  string `json:"status" doc:"ok, degraded: values are kept that could not be asked for anew, or failed: it cannot be asked." enum:"ok,degraded,failed"`
	Reason  string `json:"reason,omitempty" doc:"What is wrong."`
	Hint    string `json:"hint,omitempty" doc:"What to do about it."`
	Secrets int    `json:"secrets" doc:"Secrets of it that are in use."`
	Watched bool   `json:"watched" doc:"Whether it tells of changes by itself; else it is asked again now and then."`
}

// SecretTest reports whether a reference leads to a secret. It never holds the secret.
type SecretTest struct {
	Reference string `json:"reference"`
	Resolves  bool   `json:"resolves"`
	Provider  string `json:"provider"`
	Plugin    string `json:"plugin,omitempty" doc:"The plugin that was asked; missing for a built-in provider."`
	// Of a secret.
	Version   string     `json:"version,omitempty" doc:"What its provider calls this value of it."`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When it stops being valid; missing: it does not."`
	Size      string     `json:"size,omitempty" doc:"About how long it is." enum:"empty,under 16 bytes,16 to 63 bytes,64 to 1023 bytes,1 to 64 KiB,over 64 KiB"`
	Binary    bool       `json:"binary,omitempty" doc:"It is no text: environments, headers and JSON cannot hold it."`
	// Of none.
	Code   string `json:"code,omitempty" doc:"Why there is none, as a word: NOT_FOUND, FORBIDDEN, UNAVAILABLE and so on."`
	Reason string `json:"reason,omitempty" doc:"Why there is none, as its provider says it."`
	Hint   string `json:"hint,omitempty" doc:"What to do about it."`
}

// SecretTestRequest asks whether a reference leads to a secret.
type SecretTestRequest struct {
	Reference string `json:"reference" doc:"Such as vault:secret/db#password." check:"required,max=2048"`
}
