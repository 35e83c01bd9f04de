package main

import (
	"fmt"
	"os"
	"strings"
)

// pageCommands returns the commands of a page's console blocks: the lines that begin with a dollar.
func pageCommands(path string) ([]string, error) {
	return fenced(path, "console", "$ ")
}

// readmeCommands returns the commands with the go tool of a README's first block.
func readmeCommands(path string) ([]string, error) {
	return fenced(path, "", "go ")
}

// fenced returns the lines with a prefix in the fenced blocks of a language. The prefix of a prompt is cut off.
func fenced(path, language, prefix string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var commands []string
	inside, wanted := false, false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "```"); ok {
			inside, wanted = !inside, !inside && rest == language
			continue
		}
		if wanted && strings.HasPrefix(line, prefix) {
			commands = append(commands, strings.TrimPrefix(line, "$ "))
		}
	}
	if len(commands) == 0 {
		return nil, fmt.Errorf("%s has no commands to run", path)
	}
	return commands, nil
}
