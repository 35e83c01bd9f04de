package wire

import "time"

// AdminStatus is the state of a server, as the machine that it runs on is shown it.
type AdminStatus struct {
	Status    string      `json:"status"` // healthy, degraded or unhealthy
	Phase     string      `json:"phase"`  // starting, ready or stopping
	Version   string      `json:"version"`
	Commit    string      `json:"commit,omitempty"`
	PID       int         `json:"pid"`
	StartedAt time.Time   `json:"startedAt"`
	Address   string      `json:"address"`
	Config    []string    `json:"config"` // files, in the order they were read
	LogLevel  string      `json:"logLevel"`
	Rows      []StatusRow `json:"rows"`
}

// StatusRow is the state of one part of a server.
type StatusRow struct {
	Kind    string     `json:"kind"` // part, plugin, queue, certificate, disk, configuration or alert
	Name    string     `json:"name"`
	Status  string     `json:"status"` // of a part: ok, degraded or failed; of an alert: its severity
	Since   *time.Time `json:"since,omitempty"`
	Message string     `json:"message,omitempty"`
	Hint    string     `json:"hint,omitempty"` // what to do about it
}

// AdminReload is the outcome of a reload of the configuration.
type AdminReload struct {
	Files          []string `json:"files"`
	WaitForRestart []string `json:"waitForRestart"` // keys whose new values are not in effect yet
}

// AdminStoreKey is how the store is encrypted.
type AdminStoreKey struct {
	MasterKey string `json:"masterKey"` // id of the key that wraps the data keys
	DataKey   uint32 `json:"dataKey"`   // number of the one that records are sealed by
	Resealing bool   `json:"resealing"` // records of a former data key are being sealed anew
	Done      int64  `json:"done"`      // records looked at by that
	Total     int64  `json:"total"`
}

// AdminSealHeader is the header in which an answer with a backup has the envelope to encrypt it by, as JSON in base64.
const AdminSealHeader = "X-Wardroom-Envelope"

// AdminLog is the level of the log: in an answer with that of each part, in a request to change it with the part that it is for.
type AdminLog struct {
	Level      string         `json:"level"`
	Configured string         `json:"configured,omitempty"` // what a reload sets
	Part       string         `json:"part,omitempty"`       // of a request: the part alone; empty: all
	Parts      []AdminLogPart `json:"parts,omitempty"`
}

// AdminLogPart is the level of a part of the server.
type AdminLogPart struct {
	Part  string `json:"part"`
	Level string `json:"level"`
}

// AdminError is the answer of the admin socket to what it refuses.
type AdminError struct {
	Error struct {
		Code     string   `json:"code"`
		Message  string   `json:"message"`
		Problems []string `json:"problems,omitempty"` // of a configuration, one a line
	} `json:"error"`
}
