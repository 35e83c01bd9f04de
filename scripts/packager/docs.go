package main

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// manuals writes a page for each command.
func (b *builder) manuals(p *pkg) error {
	root := cmd.New(cmd.Deps{})
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true
	dir, err := os.MkdirTemp(b.stage, "man-")
	if err != nil {
		return err
	}
	header := &doc.GenManHeader{Title: "WARDROOM", Section: "1", Date: &b.epoch, Source: "Wardroom " + b.version, Manual: "Wardroom"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return err
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, page := range pages {
		data, err := os.ReadFile(filepath.Join(dir, page.Name()))
		if err != nil {
			return err
		}
		if err := b.writeZipped(p, "usr/share/man/man1/"+page.Name(), data); err != nil {
			return err
		}
	}
	return os.RemoveAll(dir)
}

// completions writes those of the shells that Linux distributions have directories for.
func (b *builder) completions(p *pkg) error {
	root := cmd.New(cmd.Deps{})
	var bash, zsh, fish bytes.Buffer
	if err := root.GenBashCompletionV2(&bash, true); err != nil {
		return err
	}
	if err := root.GenZshCompletion(&zsh); err != nil {
		return err
	}
	if err := root.GenFishCompletion(&fish, true); err != nil {
		return err
	}
	for to, data := range map[string][]byte{
		"usr/share/bash-completion/completions/wardroom":    bash.Bytes(),
		"usr/share/zsh/vendor-completions/_wardroom":        zsh.Bytes(),
		"usr/share/fish/vendor_completions.d/wardroom.fish": fish.Bytes(),
	} {
		if err := b.write(p, to, data); err != nil {
			return err
		}
	}
	return nil
}
