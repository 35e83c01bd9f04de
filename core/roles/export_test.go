package roles

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// What tests look at from outside.
var (
	ResultOf    = resultOf
	TaskText    = taskText
	MessageText = messageText
)

// Answers is answers for a prompt in JSON.
func Answers(raw, content json.RawMessage) []core.ManagedAgentAnswer {
	return answers(readPrompt(raw), content)
}
