package config

import "time"

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
)

// Default returns a new Config with the default of every key. It is the only place of defaults.
func Default() *Config {
	const day = 24 * time.Hour
	return &Config{
		Server: Server{
			Listen:            "127.0.0.1:8080",
			Environment:       Production,
			MaxBody:           10 * mib,
			MaxDefinition:     1 * mib,
			ShutdownTimeout:   30 * time.Second,
			ReadHeaderTimeout: 10 * time.Second,
			BodyTimeout:       time.Minute,
			ConnectionLimits:  ConnectionLimits{StallTimeout: 30 * time.Second, MaxConnections: 50_000},
		},
		Store: Store{
			Path:    "/var/lib/wardroom",
			MinFree: 256 * mib,
			Retention: Retention{
				Executions:  30 * day,
				Events:      30 * day,
				Batches:     30 * day,
				Agents:      day,
				Idempotency: day,
			},
		},
		Engine: Engine{
			MaxActive:      1000,
			MaxQueued:      10_000,
			MaxQueuedBytes: 512 * mib,
			DefaultTimeout: 300 * time.Second,
			MaxTimeout:     day,
			TaskTimeout:    30 * time.Second,
			TaskRetries:    2,
			MaxBatchInputs: 1000,
			PriorityAging:  30 * time.Second,
			RoleBinding:    BindAuto,

			QuestionTimeout: 7 * 24 * time.Hour,
		},
		Threads: Threads{
			MaxThreads:      100,
			MaxQueuedInputs: 20_000,
			IdleTimeout:     time.Hour,
			MaxRestarts:     3,
			TurnRetries:     3,
			TurnRetryDelay:  10 * time.Second,
			WaitAlert:       30 * time.Minute,
			SpawnsAtOnce:    4,
			Workspaces: Workspaces{
				TTL:             7 * day,
				ReserveTTL:      time.Hour,
				MaxCount:        500,
				MaxBytes:        10 * 1024 * mib,
				MaxTotalBytes:   100 * 1024 * mib,
				FetchTimeout:    5 * time.Minute,
				CheckoutTimeout: 10 * time.Minute,
				Identity:        Identity{Name: "Wardroom", Email: "wardroom@localhost"},
			},
			Finish: Finish{Commit: true, Branches: []string{"wardroom/*"}},
			Memory: Memory{MaxDecisions: 5, MaxExperiences: 4, MaxContext: 16 * kib, Keep: 365 * day, MaxCount: 100_000},
		},
		Webhooks: Webhooks{
			MaxConcurrent:   256,
			MaxPerEndpoint:  10,
			DisableAfter:    5 * day,
			RotationOverlap: day,
			MaxPending:      1_000_000,
			MaxPendingAge:   7 * day,
			Retention:       WebhookRetention{Age: 30 * day, MaxPerEndpoint: 100_000},
		},
		Agents: Agents{
			AgentLimits: AgentLimits{
				HeartbeatInterval: 10 * time.Second,
				UnhealthyAfter:    2,
				DisconnectAfter:   3,
				ResumeGrace:       30 * time.Second,
				MessagesPerSecond: 100,
				KeepDisconnected:  day,
				RegisterTimeout:   10 * time.Second,
			},
			MaxSessions: 20_000,
			MaxMessage:  1 * mib,
			SendBuffer:  4 * mib,
		},
		Streams: Streams{
			MaxOpen:      20_000,
			Heartbeat:    15 * time.Second,
			MaxAge:       time.Hour,
			WriteTimeout: 5 * time.Second,
		},
		Log: Log{Level: "info", Format: "auto"},
	}
}
