package roles

import (
	"strconv"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
)

// maxName bounds the name of an agent, in bytes; the role's part of it is cut.
const maxName = 200

// labels are those of an agent that is spawned for a role.
func labels(spec core.RoleSpec) map[string]string {
	return map[string]string{
		LabelExecution: spec.ExecutionID, LabelRole: spec.Role, LabelInstance: strconv.Itoa(spec.Instance),
	}
}

// fromLabels reads them; false when they are not those of a role's agent.
func fromLabels(labels map[string]string) (instance, bool) {
	number, err := strconv.Atoi(labels[LabelInstance])
	who := instance{labels[LabelExecution], labels[LabelRole], number}
	return who, err == nil && who.execution != "" && who.role != ""
}

// agentName is what people see: the role and which instance of it.
func agentName(spec core.RoleSpec) string {
	suffix := "-" + strconv.Itoa(spec.Instance)
	return clip(spec.Role, maxName-len(suffix)) + suffix
}

// clip cuts text to at most so many bytes, between characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
