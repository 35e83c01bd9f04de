// Package fakemodel is a model endpoint for tests: one loopback server that speaks the wire protocols of the
// claude, codex and gemini command lines, and answers every prompt the same way each time. With it the real
// programs run without an account and without a network.
//
// It speaks the Anthropic Messages API, the OpenAI Responses and Chat Completions APIs, and the Gemini
// generateContent API, each as a stream and as plain JSON, with what the programs ask besides: token counts,
// model lists, titles and routing decisions in the shape of a JSON schema.
//
// An answer is ANSWER[<last user text>], unless the last user text holds directives:
//
//	SAY[text]      answers exactly text
//	USE_TOOL       calls the program's own shell tool with `echo hi`; when the result is there, the answer is
//	               followed by TOOL_RESULT[<result>]
//	USE_TOOL[cmd]  the same with cmd
//	USE_TOOLS[n]   n shell calls, one after the other (echo hi-1 .. hi-n, at most 50), then the answer
//	READ[path]     reads a file with the program's own tool for that, or its shell; when the result is there, USE_TOOL
//	               and then the answer follow as above
//	CALL[tool {..}] calls a tool of the program by its name with that JSON object as its input, whether it is offered or
//	               not; several in the order in which they stand, before READ and USE_TOOL
//	TOGETHER       with CALL, claude only: all of them in one message
//	QUOTE[words]   the answer quotes the lines of tool results that hold words, QUOTED[line | line], instead of
//	               the result
//	REPORT[json]   the answer ends with the structured block in which an agent of a thread reports: a fence
//	               marked wardroom around json
//	ESCALATE       with USE_TOOL, codex only: asks to run outside the sandbox, so that codex asks for approval
//	ASK[question]  calls the program's own tool to ask the user, with the options alpha and beta
//	SLOW[s]        streams the answer word by word over s seconds (at most 120), about 4 words a second
//	LONG[n]        adds n numbered lines to the answer (at most 20000)
//	LOOP[n]        adds the same word n times to the answer (at most 20000), which gemini takes for a loop
//	THINK          a thinking block before the answer, where the API has one
//	FAIL[code]     an HTTP error with that status (400 to 599)
//	FAIL[code why] the same with why in its message, from which programs read when to try again, and what quota is used up
//	CUT            breaks the connection off in the middle of the answer
//	CUT[n]         the same after n characters
//	TIMES[n]       FAIL and CUT concern only the first n requests (at most 1000) with this user text; a request of
//	               the program's own retries is one more
//	HANG[s]        no byte for s seconds (at most 120), then the answer
//	STALL[s]       no byte for s seconds (at most 120) in the middle of the answer
//	HOLD[name]     no byte until somebody releases name; released names stay open until Reset
//
// A directive within the value of another is plain text, so SAY can name directives. FAIL fails the side
// questions (titles, routing) of a turn too, as a refusing provider does, unless TIMES says how often; SLOW, HANG, STALL,
// HOLD and CUT concern the answer only, and side questions are answered at once.
//
// It owns no knowledge of how the programs are configured or started, and it checks no credentials. Tests and
// tools below scripts and the end-to-end tests import it; others run scripts/fakemodel/cmd and read the URL
// from its first line.
package fakemodel
