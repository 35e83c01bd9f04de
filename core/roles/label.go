package roles

import (
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
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
	return clip.Text(spec.Role, maxName-len(suffix)) + suffix
}
