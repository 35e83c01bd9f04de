package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

const (
	// hostCommand is the first argument of the rig's own binary when it plays a connected agent that hosts threads.
	hostCommand = "host"
	// scribeType is the agent type that such an agent offers.
	scribeType = "scribe"
	// hostRoom is how many threads it takes.
	hostRoom = 64
)

// Words that begin the messages on which an agent of a thread does something else than a plain turn.
const (
	wordReport = "report " // it reports that it is done
	wordExit   = "exit "   // it ends by itself, with code 3
	wordAsk    = "ask "    // it asks for leave and goes on once it has an answer; scribes only
)

// reportBlock is the structured block of a message that ends the work.
func reportBlock(text string) string {
	return "```wardroom {\"state\":\"complete\",\"summary\":\"" + text + "\"}```"
}

// host hosts threads whose agents write each message they get into a ledger. The ledgers outlive the process, so an
// agent is taken up where it was.
type host struct {
	dir string // of the ledgers

	mu   sync.Mutex // guards all
	open map[string]*scribe
}

// scribe is the agent of one thread.
type scribe struct {
	path string

	mu       sync.Mutex      // guards all below; held over what it does
	notes    []note          // in the ledger
	answered map[string]bool // ids of the messages that have the answer they wait for
	mine     map[string]bool // messages, and answers, that this process was given
	at       stage           // what it has told
}

// note is a message in a ledger.
type note struct{ id, text string }

func hostMain(args []string) int {
	flags := flag.NewFlagSet(hostCommand, flag.ExitOnError)
	server := flags.String("server", "", "address of the core")
	name := flags.String("name", "", "name of the agent")
	ledgers := flags.String("ledgers", "", "folder of the ledgers")
	state := flags.String("state", "", "folder of the session to resume")
	_ = flags.Parse(args) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	h := &host{dir: *ledgers, open: map[string]*scribe{}}
	err := os.MkdirAll(*state, 0o700)
	if err == nil {
		err = testbed.PlayAgents(ctx, *name, 1, func(int) agent.Options {
			return agent.Options{
				URL: *server, Name: *name, StateFile: filepath.Join(*state, "session"),
				Threads:      &agent.ThreadOptions{Max: hostRoom, Types: []string{scribeType}, Host: h, StateDir: filepath.Join(*state, "threads")},
				ReconnectMin: 10 * time.Millisecond, ReconnectMax: 100 * time.Millisecond,
				Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			}
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		return 1
	}
	return 0
}

// scribe returns the agent of a thread, with the ledger that it has.
func (h *host) scribe(id string) (*scribe, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.open[id]; s != nil {
		return s, nil
	}
	s := &scribe{path: filepath.Join(h.dir, id), answered: map[string]bool{}, mine: map[string]bool{}}
	lines, err := readLedger(s.path)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		switch kind, rest, _ := strings.Cut(line, " "); kind {
		case doubled:
		case answered:
			s.answered[rest] = true
		default:
			s.notes = append(s.notes, note{id: kind, text: rest})
		}
	}
	h.open[id] = s
	return s, nil
}

// Spawn implements agent.ThreadHost.
func (h *host) Spawn(ctx context.Context, t *agent.Thread) error {
	s, err := h.scribe(t.Spec.ThreadID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tell(ctx, t)
}

// Adopt implements agent.ThreadAdopter: what the process before did not report is reported now.
func (h *host) Adopt(_ context.Context, t *agent.Thread, mark string) {
	s, err := h.scribe(t.Spec.ThreadID)
	if err != nil {
		fmt.Fprintln(os.Stderr, "adopt:", err)
		os.Exit(1)
	}
	s.mu.Lock() // before any message can come
	if mark != "" {
		if _, err := fmt.Sscanf(mark, "%d %d", &s.at.turn, &s.at.told); err != nil {
			fmt.Fprintf(os.Stderr, "adopt: mark %q: %v\n", mark, err)
			os.Exit(1)
		}
	}
	go func() {
		defer s.mu.Unlock()
		if err := s.tell(t.Context(), t); err != nil && t.Context().Err() == nil {
			fmt.Fprintln(os.Stderr, "adopt:", err)
		}
	}()
}

// Words that begin lines of a ledger which are no messages.
const (
	doubled  = "doubled"  // a message or an answer that this very process was given before
	answered = "answered" // the id of a message on which the scribe asked
)

// Message implements agent.ThreadHost. One that an earlier process wrote down, and died over, is not written again.
func (h *host) Message(ctx context.Context, t *agent.Thread, m agent.ThreadMessage) error {
	s, err := h.scribe(t.Spec.ThreadID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.notes, func(n note) bool { return n.id == m.ID }) {
		return s.again(m.ID, m.Text) // Adopt has told of it
	}
	if err := s.write(m.ID + " " + m.Text); err != nil {
		return err
	}
	s.notes = append(s.notes, note{id: m.ID, text: m.Text})
	s.mine[m.ID] = true
	return s.tell(ctx, t)
}

// Answer implements agent.ThreadHost.
func (h *host) Answer(ctx context.Context, t *agent.Thread, a protocol.ThreadAnswer) error {
	s, err := h.scribe(t.Spec.ThreadID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered[a.PromptID] {
		return s.again(answered+a.PromptID, answered+" "+a.PromptID)
	}
	if err := s.write(answered + " " + a.PromptID); err != nil {
		return err
	}
	s.answered[a.PromptID], s.mine[answered+a.PromptID] = true, true
	return s.tell(ctx, t)
}

// again takes something that is in the ledger already. From an earlier process, which died over it, it may come again;
// from this one it may not.
func (s *scribe) again(key, text string) error {
	if s.mine[key] {
		return s.write(doubled + " " + text)
	}
	s.mine[key] = true
	return nil
}

// write appends a line to the ledger, at once.
func (s *scribe) write(line string) error {
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// stage is how far a scribe has told what it did: so many events of a turn; turn 0 is its start.
type stage struct{ turn, told int }

// tell tells everything after its stage, up to the end of the last turn in the ledger, or up to what it asks.
func (s *scribe) tell(ctx context.Context, t *agent.Thread) error {
	for ; s.at.turn <= len(s.notes); s.at = (stage{turn: s.at.turn + 1}) {
		events := []agent.ThreadEvent{{Type: protocol.ThreadStarted}, {Type: protocol.ThreadReady}}
		var n note
		if s.at.turn > 0 {
			n = s.notes[s.at.turn-1]
			events = turnEvents(s.at.turn, n.id, n.text)
		}
		for ; s.at.told < len(events); s.at.told++ {
			e := events[s.at.told]
			if e.Type == protocol.ThreadUnblocked && !s.answered[n.id] {
				return nil
			}
			e.Mark = fmt.Sprintf("%d %d", s.at.turn, s.at.told+1)
			if err := t.Tell(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// turnEvents are what a scribe tells of a message.
func turnEvents(turn int, id, text string) []agent.ThreadEvent {
	taken := agent.ThreadEvent{Type: protocol.ThreadBusy, InputTaken: id}
	if strings.HasPrefix(text, wordExit) {
		code := 3
		return []agent.ThreadEvent{taken, {Type: protocol.ThreadStopped, Data: protocol.ThreadData{Reason: "exited", ExitCode: &code}}}
	}
	events := []agent.ThreadEvent{taken}
	if strings.HasPrefix(text, wordAsk) {
		events = append(events, agent.ThreadEvent{Type: protocol.ThreadBlocked, Data: protocol.ThreadData{Prompt: &protocol.ThreadPrompt{
			ID: id, Kind: "approval", Text: text + "?", Options: []protocol.ThreadOption{{ID: "allow", Label: "Yes"}, {ID: "deny", Label: "No"}},
		}}}, agent.ThreadEvent{Type: protocol.ThreadUnblocked, Data: protocol.ThreadData{Answered: "allow"}})
	}
	said := "got " + text
	if strings.HasPrefix(text, wordReport) {
		said = reportBlock(text)
	}
	return append(events,
		agent.ThreadEvent{Type: protocol.ThreadMessage, Data: protocol.ThreadData{Text: said}},
		agent.ThreadEvent{Type: protocol.ThreadTurnComplete, Data: protocol.ThreadData{Turn: turn, Text: said}},
		agent.ThreadEvent{Type: protocol.ThreadReady},
	)
}

// readLedger returns the lines of a ledger; one that is not there is empty.
func readLedger(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// Stop implements agent.ThreadHost. It waits for what the agent is about to do.
func (h *host) Stop(_ context.Context, t *agent.Thread, _ protocol.ThreadStop) error {
	s, err := h.scribe(t.Spec.ThreadID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return nil
}
