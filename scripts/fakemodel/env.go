package fakemodel

// Env returns the environment by which a command line (claude, codex, gemini) asks the server at a URL; nil for any other
// program. The keys are not checked.
func Env(cli, url string) map[string]string {
	switch cli {
	case "claude":
		return map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-no-key-is-checked-here"}
	case "codex":
		return map[string]string{"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "no-key-is-checked"}
	case "gemini":
		return map[string]string{"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "no-key-is-checked"}
	}
	return nil
}
