package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Limits of what an agent may tell about itself.
const (
	maxNameRunes     = 128
	maxRegionRunes   = 128
	maxCapabilities  = 64
	maxCapabilityLen = 64
	maxMetadataBytes = 16 << 10
	maxTasksLimit    = 10000
	maxTaskTimeout   = 24 * time.Hour
	maxReasonRunes   = 512
)

// registration is a checked register frame.
type registration struct {
	name         string
	capabilities []string // sorted, without doubles
	region       string
	metadata     map[string]any
	maxTasks     int
	taskTimeout  time.Duration         // 0: the server's default
	threads      *protocol.ThreadOffer // nil: none
	resume       *protocol.Resume
}

// allProblems is the text of an error with every problem that it has: a refused agent sees no details.
func allProblems(err *core.Error) string {
	problems, ok := err.Details["errors"].([]core.Problem)
	if !ok || len(problems) < 2 {
		return err.Message
	}
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.Path + ": " + p.Reason
	}
	return string(protocol.TypeRegister) + ": " + strings.Join(texts, "; ")
}

// checkRegister validates a register frame and returns every problem.
func checkRegister(p *protocol.Register) (registration, error) {
	var problems []core.Problem
	bad := func(path, format string, args ...any) {
		problems = append(problems, core.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
	}
	if n := utf8.RuneCountInString(p.Name); n < 1 || n > maxNameRunes || !printable(p.Name) || strings.TrimSpace(p.Name) == "" {
		bad("name", "must be 1 to %d printable characters", maxNameRunes)
	}
	capabilities, reason := checkCapabilities(p.Capabilities)
	if reason != "" {
		bad("capabilities", "%s", reason)
	}
	if utf8.RuneCountInString(p.Region) > maxRegionRunes || !printable(p.Region) {
		bad("region", "must be at most %d printable characters", maxRegionRunes)
	}
	if raw, err := json.Marshal(p.Metadata); err != nil || len(raw) > maxMetadataBytes {
		bad("metadata", "must be at most %d bytes of JSON", maxMetadataBytes)
	}
	for _, key := range []string{"model", "version"} {
		if v, ok := p.Metadata[key]; ok {
			if _, ok := v.(string); !ok {
				bad("metadata."+key, "must be a string")
			}
		}
	}
	tasks := cmp.Or(p.Config.MaxConcurrentTasks, 1)
	if reason := checkMaxTasks(tasks); reason != "" {
		bad("config.maxConcurrentTasks", "%s", reason)
	}
	if ms := p.Config.TaskTimeout; ms < 0 || ms > maxTaskTimeout.Milliseconds() {
		bad("config.taskTimeout", "must be 0 to %d milliseconds", maxTaskTimeout.Milliseconds())
	}
	if p.Resume != nil && len(p.Resume.Tasks) > maxTasksLimit {
		bad("resume.tasks", "must be at most %d ids", maxTasksLimit)
	}
	threads := checkOffer(p, bad)
	if err := core.InvalidAll("register", problems); err != nil {
		return registration{}, err
	}
	return registration{
		name: p.Name, capabilities: capabilities, region: p.Region, metadata: p.Metadata, maxTasks: tasks,
		taskTimeout: time.Duration(p.Config.TaskTimeout) * time.Millisecond, threads: threads, resume: p.Resume,
	}, nil
}

// checkOffer checks what a registration says of threads.
func checkOffer(p *protocol.Register, bad func(path, format string, args ...any)) *protocol.ThreadOffer {
	if p.Resume != nil {
		if len(p.Resume.Threads) > maxTasksLimit {
			bad("resume.threads", "must be at most %d ids", maxTasksLimit)
		}
		for i, id := range p.Resume.Threads {
			if checkThreadID(id) != nil {
				bad(fmt.Sprintf("resume.threads[%d]", i), "must be the id of a thread")
				break
			}
		}
	}
	offer := p.Config.Threads
	if offer == nil {
		return nil
	}
	if offer.Max < 1 || offer.Max > maxTasksLimit {
		bad("config.threads.max", "must be 1 to %d", maxTasksLimit)
	}
	types, reason := checkCapabilities(offer.Types)
	if reason != "" {
		bad("config.threads.types", "%s", reason)
	}
	return &protocol.ThreadOffer{Max: offer.Max, Types: types}
}

// checkCapabilities returns the capabilities sorted and without doubles, or what is wrong.
func checkCapabilities(list []string) (sorted []string, reason string) {
	if len(list) < 1 || len(list) > maxCapabilities {
		return nil, fmt.Sprintf("must be 1 to %d entries", maxCapabilities)
	}
	for i, c := range list {
		if len(c) < 1 || len(c) > maxCapabilityLen || strings.IndexFunc(c, notCapability) >= 0 {
			return nil, fmt.Sprintf("entry %d must be 1 to %d of A-Z a-z 0-9 . _ : / -", i, maxCapabilityLen)
		}
	}
	sorted = slices.Clone(list)
	slices.Sort(sorted)
	return slices.Compact(sorted), ""
}

func notCapability(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/-", r))
}

func checkMaxTasks(n int) (reason string) {
	if n < 1 || n > maxTasksLimit {
		return fmt.Sprintf("must be 1 to %d", maxTasksLimit)
	}
	return ""
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// cleanReason makes a reason of an agent or a caller fit for events and logs.
func cleanReason(reason, fallback string) string {
	reason = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(reason))
	if reason == "" {
		return fallback
	}
	if utf8.RuneCountInString(reason) > maxReasonRunes {
		reason = string([]rune(reason)[:maxReasonRunes])
	}
	return reason
}
