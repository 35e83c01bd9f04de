package report

// Instructions is the text, in Markdown, that explains the structured block to an agent. Its example names no state,
// so that a message which repeats it is no report.
func Instructions() string {
	return `End a message with this block when your work is over, and when you learned something that others should know:

` + "```wardroom" + `
{
  "state": "complete | partial | failed | working",
  "summary": "what was done, and what is left, in a few sentences",
  "tests": {"run": 0, "passed": 0, "failed": 0, "command": "how they were run"},
  "artifacts": [{"type": "commit | file | url | report", "value": "hash, path in the repository, address or text"}],
  "decisions": ["a finding or a choice that others who work on this should know"]
}
` + "```" + `

- ` + "`state`" + `: one of the four words. "complete": the objective is reached. "partial": as much as can be done is
  done, and something is left. "failed": it cannot be done. "working", or no state: the work goes on.
- With "complete", "partial" or "failed" you are stopped after the message. Use them only once nothing of yours is
  running and all changes are saved.
- All fields may be left out. ` + "`tests`" + ` is what you ran yourself. The block is JSON, and the last thing in the
  message; only the last one counts.
`
}
