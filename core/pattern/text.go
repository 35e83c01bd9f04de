package pattern

import (
	"reflect"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// The structs of this file are the language of definitions as people write it: the keys of each map, and the bounds,
// words and meaning of each key. What reads a definition takes them from here, and so does its JSON Schema. Times are in
// milliseconds.

// shapeOf returns the shape of one of the structs of this file.
func shapeOf[T any]() *schema.Shape { return schema.Of(reflect.TypeFor[T]()) }

// identityText says which definition it is.
type identityText struct {
	Name        string      `json:"name" check:"min=1,max=128" doc:"Name of the pattern: letters, digits, dots, dashes and underscores. A request may name it instead."`
	Version     versionText `json:"version" doc:"Version of the text, such as 1.0.0. A request may name it instead."`
	Description string      `json:"description" check:"max=4096" doc:"What the pattern is for."`
}

// flatText is a flat definition: one step, or several in turn.
type flatText struct {
	identityText
	Input       fieldsText      `json:"input" doc:"Declared fields of the input. Without it any object will do."`
	Agents      agentsText      `json:"agents" doc:"Which agents are needed, and how many. Not beside steps."`
	Aggregation aggregationText `json:"aggregation" doc:"How answers become one outcome. Not beside steps."`
	Output      expressionText  `json:"output" doc:"The result, as expressions. Without it the outcome of the last step."`
	Execution   executionText   `json:"execution" doc:"How the agents are used, and limits of an execution."`
	Validation  validationText  `json:"validation" doc:"What the outcome must meet. Not beside steps."`
	Config      freeText        `json:"config" doc:"Settings that go to the agents with each task. They may refer to secrets."`
	Security    securityText    `json:"security" doc:"Who may use the pattern."`
	Steps       []stepText      `json:"steps" check:"min=1,max=100" doc:"Steps in turn, in place of agents."`
}

// chartText is an org chart.
type chartText struct {
	identityText
	Structure structureText `json:"structure" check:"required" doc:"Who there is."`
	Workflow  workflowText  `json:"workflow" check:"required" doc:"What they do."`
	Execution limitsText    `json:"execution" doc:"Limits of an execution."`
	Config    freeText      `json:"config" doc:"Settings that go to the agents with each task. They may refer to secrets."`
	Security  securityText  `json:"security" doc:"Who may use the pattern."`
}

// limitsText holds the settings of the section execution for executions as a whole.
type limitsText struct {
	Timeout       int `json:"timeout" check:"min=1,max=604800000" doc:"Longest time of an execution in milliseconds."`
	MaxConcurrent int `json:"maxConcurrent" check:"min=1,max=100000" doc:"Most executions of the pattern at the same time; further ones wait."`
}

// stepExecutionText holds the settings of the section execution for one step.
type stepExecutionText struct {
	Strategy   string `json:"strategy" enum:"parallel,sequential,race" default:"parallel" doc:"Whether agents work at the same time, one after the other, or until the first acceptable result."`
	WaitForAll bool   `json:"waitForAll" doc:"Whether the step waits for all agents. True unless minResults is given."`
	MinResults int    `json:"minResults" check:"min=1,max=1000" doc:"Results that suffice, from agents.min to agents.max."`
}

// executionText is the section execution of a flat definition.
type executionText struct {
	stepExecutionText
	limitsText
}

// securityText is who may use a pattern.
type securityText struct {
	AllowedUsers []string `json:"allowedUsers" check:"max=1000" doc:"Users who may use it."`
	AllowedRoles []string `json:"allowedRoles" check:"max=1000" doc:"Roles that may use it."`
}

// fieldText is the full declaration of an input field.
type fieldText struct {
	Type        string     `json:"type" enum:"string,number,integer,boolean,object,array,any" default:"any" doc:"Type of the value."`
	Required    bool       `json:"required" doc:"Whether an input without it is refused."`
	Default     anyText    `json:"default" doc:"What it is when nothing is given."`
	Description string     `json:"description" doc:"What it is for."`
	Min         float64    `json:"min" doc:"Least number."`
	Max         float64    `json:"max" doc:"Greatest number."`
	MinLength   int        `json:"minLength" check:"min=0,max=1073741824" doc:"Fewest characters of a text, or items of an array."`
	MaxLength   int        `json:"maxLength" check:"min=0,max=1073741824" doc:"Most characters of a text, or items of an array."`
	Pattern     string     `json:"pattern" check:"max=1000" doc:"Regular expression (RE2) that a text matches somewhere."`
	Enum        []anyText  `json:"enum" check:"min=1,max=1000" doc:"The values that are allowed."`
	Items       itemText   `json:"items" doc:"What the items of an array are."`
	Properties  fieldsText `json:"properties" doc:"Declared members of an object."`
}

// agentsText is which agents a step needs.
type agentsText struct {
	Capabilities []string             `json:"capabilities" check:"max=1000" doc:"What each of them must be able to do."`
	Min          int                  `json:"min" check:"min=1,max=1000" default:"1" doc:"Fewest agents."`
	Max          int                  `json:"max" check:"min=1,max=1000" doc:"Most agents; as min, if nothing is said."`
	TaskTimeout  int                  `json:"taskTimeout" check:"min=1,max=86400000" default:"30000" doc:"Longest time of one task in milliseconds."`
	Prefer       core.AgentPreference `json:"prefer" doc:"Which agents are taken first where several fit."`
}

// validationText holds the requirements that an outcome must meet.
type validationText struct {
	MinConfidence float64 `json:"minConfidence" check:"min=0,max=1" doc:"Least confidence of the outcome."`
	OnFailure     string  `json:"onFailure" enum:"fail,retry,fallback" default:"fail" doc:"What happens to one that does not."`
	MaxRetries    int     `json:"maxRetries" check:"min=0,max=10" doc:"Further attempts with onFailure: retry; 1 if nothing is said."`
	Fallback      anyText `json:"fallback" doc:"The outcome with onFailure: fallback."`
}

// aggregationText is how the answers of a step become its outcome.
type aggregationText struct {
	Strategy  string      `json:"strategy" enum:"voting,consensus,merge,first,best" default:"merge" doc:"How answers become one."`
	Method    string      `json:"method" enum:"majority,plurality,unanimous,weighted,deep,shallow,concat,union" doc:"Of voting: majority, plurality, unanimous or weighted. Of merge: deep, shallow, concat or union."`
	Field     string      `json:"field" check:"min=1" doc:"What is voted on or compared, such as label or data.items[0].name."`
	Fields    []string    `json:"fields" check:"min=1,max=1000" doc:"Fields on each of which consensus is sought."`
	Threshold float64     `json:"threshold" check:"min=0,max=1" doc:"Least share of the winner, above 0."`
	MinVotes  int         `json:"minVotes" check:"min=1,max=1000" doc:"Fewest votes."`
	Weights   weightsText `json:"weights" doc:"Weights of a weighted vote: confidence, or a map of agent ids to numbers; * is all others."`
}

// stepText is a step of a flat definition at agents.
type stepText struct {
	ID          string            `json:"id" check:"required,min=1,max=64" doc:"Name of the step in expressions."`
	Agents      agentsText        `json:"agents" doc:"Which agents are needed, and how many. Needed unless the step runs a pattern."`
	Input       expressionText    `json:"input" doc:"What the agents get, as expressions. Without it the input of the execution."`
	Aggregation aggregationText   `json:"aggregation" doc:"How answers become one outcome."`
	Validation  validationText    `json:"validation" doc:"What the outcome must meet."`
	Execution   stepExecutionText `json:"execution" doc:"How the agents are used."`
	Pattern     string            `json:"pattern" doc:"The pattern to run as this step, name or name@range, in place of agents."`
}

// composedText is a step of a flat definition that runs a pattern.
type composedText struct {
	ID      string         `json:"id" check:"required"`
	Pattern string         `json:"pattern"`
	Input   expressionText `json:"input"`
}

// structureText is who there is in an org chart.
type structureText struct {
	Name       string             `json:"name" doc:"Name of the team, for people."`
	Roles      rolesText          `json:"roles" check:"required" doc:"The roles by their key."`
	Routing    []core.RoutingRule `json:"routing" check:"max=1000" doc:"By which rules messages find their role."`
	Escalation escalationText     `json:"escalation" doc:"What becomes of messages that no rule routes, or that nobody answers."`
}

// roleText is one role.
type roleText struct {
	ID             string        `json:"id" check:"min=1,max=128" doc:"Id of the role; its key, if nothing is said."`
	Name           string        `json:"name" check:"min=1,max=128" doc:"Name for people."`
	AgentType      wordsText     `json:"agentType" doc:"Agent type that serves it, or several in order of preference."`
	Capabilities   []string      `json:"capabilities" check:"max=1000" doc:"What its agents must be able to do."`
	Singleton      bool          `json:"singleton" doc:"Whether there is one instance only."`
	MinInstances   int           `json:"minInstances" check:"min=0,max=1000" doc:"Agents from the start; 1 if something refers to the role."`
	MaxInstances   int           `json:"maxInstances" check:"min=1,max=1000" doc:"Most agents."`
	ReportsTo      roleNameText  `json:"reportsTo" doc:"Key of the manager's role; none at the top."`
	Managed        bool          `json:"managed" doc:"Whether its agents are spawned, and not those that are connected."`
	ApprovalPreset string        `json:"approvalPreset" enum:"readonly,standard,permissive,autonomous" doc:"What spawned agents may do without asking."`
	Runtime        string        `json:"runtime" check:"min=1,max=128" doc:"Runtime that spawns them."`
	Workspace      workplaceText `json:"workspace" doc:"Working copy of a repository that they get."`
}

// workplaceText is the workspace of a role. Its texts may have variables.
type workplaceText struct {
	Repo       string `json:"repo" check:"required,min=1" doc:"Git URL of the repository, or its configured name."`
	Branch     string `json:"branch" doc:"Branch, tag or commit to begin from."`
	Depth      int    `json:"depth" check:"min=1,max=1000000" doc:"Commits of history; all, if nothing is said."`
	Filter     string `json:"filter" doc:"blob:none, tree:0 or blob:limit=SIZE."`
	Submodules bool   `json:"submodules" doc:"Whether submodules come along."`
}

// escalationText is what becomes of messages without a rule or an answer.
type escalationText struct {
	DefaultBehavior string    `json:"defaultBehavior" enum:"route_to_reports_to,surface_to_user,fail,return_best_effort" default:"route_to_reports_to" doc:"Where messages go that no rule routes."`
	TopicRoutes     textsText `json:"topicRoutes" doc:"Role keys by topic, where messages go that nobody answered."`
	TimeoutMs       int       `json:"timeoutMs" check:"min=1,max=604800000" default:"30000" doc:"Longest wait for an answer in milliseconds."`
	MaxDepth        int       `json:"maxDepth" check:"min=0,max=100" default:"5" doc:"Most levels that a message goes up."`
	OnMaxDepth      string    `json:"onMaxDepth" enum:"surface_to_user,fail,return_best_effort" default:"surface_to_user" doc:"What becomes of it then."`
}

// workflowText is what is done in an org chart.
type workflowText struct {
	Name   string          `json:"name" doc:"Name of the workflow, for people."`
	Input  fieldsText      `json:"input" doc:"Declared fields of the input. Without it any object will do."`
	Steps  []chartStepText `json:"steps" check:"required,min=1" doc:"What is done, in turn."`
	Output expressionText  `json:"output" doc:"The result, as expressions. Without it that of the last step."`
}

// commonText is what all steps of a workflow have beside their type.
type commonText struct {
	Name   string `json:"name" check:"min=1,max=128" doc:"Name of the step, for people."`
	Output string `json:"output" check:"min=1,max=64" doc:"A further variable for the step's result."`
}

// stepTypeText is a step of a workflow before its type is known.
type stepTypeText struct {
	Type string `json:"type" enum:"assign,parallel,sequential,review,approve,aggregate,condition"`
	commonText
}

// assignText has a role do something.
type assignText struct {
	Type string `json:"type" check:"required" enum:"assign" doc:"A role does something."`
	commonText
	Role    string `json:"role" check:"required" doc:"Key of the role."`
	Task    string `json:"task" check:"required" doc:"What is asked of it; may have variables."`
	Timeout int    `json:"timeout" check:"min=1,max=604800000" doc:"Longest time in milliseconds."`
}

// parallelText is steps at the same time.
type parallelText struct {
	Type string `json:"type" check:"required" enum:"parallel" doc:"Steps at the same time."`
	commonText
	Steps []chartStepText `json:"steps" check:"required,min=1" doc:"The steps."`
}

// sequentialText is steps in turn.
type sequentialText struct {
	Type string `json:"type" check:"required" enum:"sequential" doc:"Steps in turn."`
	commonText
	Steps []chartStepText `json:"steps" check:"required,min=1" doc:"The steps."`
}

// reviewText has a role judge a result.
type reviewText struct {
	Type string `json:"type" check:"required" enum:"review" doc:"A role judges a result."`
	commonText
	Reviewer string         `json:"reviewer" check:"required" doc:"Key of the role."`
	Subject  expressionText `json:"subject" check:"required" doc:"What is judged, with variables."`
	Timeout  int            `json:"timeout" check:"min=1,max=604800000" doc:"Longest time in milliseconds."`
}

// approveText has a role allow that the workflow goes on.
type approveText struct {
	Type string `json:"type" check:"required" enum:"approve" doc:"A role allows that the workflow goes on."`
	commonText
	Approver   string         `json:"approver" check:"required" doc:"Key of the role."`
	Subject    expressionText `json:"subject" check:"required" doc:"What is approved, with variables."`
	Timeout    int            `json:"timeout" check:"min=1,max=604800000" doc:"Longest time in milliseconds."`
	OnReject   string         `json:"onReject" enum:"continue,fail,retry" default:"continue" doc:"What a refusal does."`
	MaxRetries int            `json:"maxRetries" check:"min=0,max=10" default:"2" doc:"Most times that the step before runs again, with onReject: retry."`
}

// aggregateText makes one result of a list.
type aggregateText struct {
	Type string `json:"type" check:"required" enum:"aggregate" doc:"One result is made of a list."`
	commonText
	Method string         `json:"method" check:"required" enum:"consensus,majority,merge,best" doc:"How."`
	From   expressionText `json:"from" doc:"The list, or several variables; the result of the step before, if nothing is said."`
}

// conditionText chooses between steps.
type conditionText struct {
	Type string `json:"type" check:"required" enum:"condition" doc:"One of two branches is taken."`
	commonText
	Check expressionText `json:"check" check:"required" doc:"The condition."`
	Then  branchText     `json:"then" check:"required" doc:"A step, or several in turn, where it holds."`
	Else  branchText     `json:"else" doc:"The same where it does not."`
}

// stepShapes are the shapes of the steps of a workflow.
var stepShapes = map[core.StepKind]*schema.Shape{
	core.KindAssign:     shapeOf[assignText](),
	core.KindParallel:   shapeOf[parallelText](),
	core.KindSequential: shapeOf[sequentialText](),
	core.KindReview:     shapeOf[reviewText](),
	core.KindApprove:    shapeOf[approveText](),
	core.KindAggregate:  shapeOf[aggregateText](),
	core.KindCondition:  shapeOf[conditionText](),
}
