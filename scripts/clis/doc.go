// Package clis finds the claude, codex and gemini command lines that tests, the demo and the benchmark drive.
//
// The versions are those of package.json and package-lock.json beside this file; install.sh puts them into a
// folder. The package starts nothing and knows nothing of their settings. Tools below scripts and the end-to-end
// tests call it; other tests look at WARDROOM_CLIS themselves, where <folder>/bin/<name> is the executable.
package clis
