package config

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

// rules are what check:"is=..." in the tags of Config refers to.
var rules = schema.Rules{
	"answer":        {Check: checkAnswer},
	"auditCategory": {Words: wire.AuditCategories},
	"branch":        {Check: checkBranch},
	"awsRegion":     {Check: checkAWSRegion},
	"cidr":          {Check: checkPrefix},
	"crud":          {Words: crudWords},
	"crudResource":  {Words: []string{"patterns", "executions", "agents"}},
	"entry":         {Check: checkEntry},
	"event":         {Words: eventWords()},
	"filter":        {Check: checkFilter},
	"gitUrl":        {Check: checkGitURL},
	"glob":          {Check: checkGlob},
	"host":          {Check: checkHost, Clean: strings.ToLower},
	"listen":        {Check: checkListen},
	"maskPath":      {Check: checkMaskPath},
	"mediaType":     {Check: checkMediaType},
	"notEmpty":      {Check: checkNotEmpty},
	"minisign":      {Check: checkMinisign},
	"origin":        {Check: checkOrigin, Clean: cleanURL},
	"person":        {Check: checkPerson},
	"promptKind":    {Check: checkPromptKind},
	"regexp":        {Check: checkPattern},
	"ruleMatch":     {Check: checkRuleMatch},
	"ruleTool":      {Check: checkRuleTool},
	"scope":         {Words: core.Scopes},
	"secretGlob":    {Check: checkSecretGlob},
	"sha256":        {Check: checkSHA256, Clean: strings.ToLower},
	"signature":     {Words: signatures},
	"storeKeyId":    {Check: checkStoreKeyID},
	"target":        {Check: checkTarget},
	"vaultPath":     {Check: checkVaultPath},
	"url":           {Check: checkBaseURL, Clean: cleanURL},
}

// Bounds of rules that answer, those of core/threads/rules, which would leave out what is beyond them.
const (
	maxRuleText  = 200  // bytes of a glob or an answer
	maxRuleMatch = 2000 // bytes of an expression
)

var promptKind = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func checkPromptKind(text string) error {
	switch {
	case text == "login":
		return errors.New("a login is never answered by a rule")
	case text != "" && !promptKind.MatchString(text):
		return fmt.Errorf("%q is not a kind of prompt such as approval or question", schema.Clip(text))
	}
	return nil
}

func checkStoreKeyID(text string) error {
	if text != "" && !storeKeyID.MatchString(text) {
		return fmt.Errorf("%q is not the id of a store key: 16 digits in hex", schema.Clip(text))
	}
	return nil
}

func checkVaultPath(text string) error {
	if text != "" && (!vaultPath.MatchString(text) || strings.Contains(text, "..")) {
		return fmt.Errorf("%q is no name of Vault: letters, digits, dots, dashes and underscores", schema.Clip(text))
	}
	return nil
}

func checkAWSRegion(text string) error {
	if text != "" && !awsRegion.MatchString(text) {
		return fmt.Errorf("%q is not a region such as eu-central-1", schema.Clip(text))
	}
	return nil
}

func checkRuleTool(text string) error {
	if err := checkBytes(text, maxRuleText); err != nil {
		return err
	}
	if _, err := path.Match(text, ""); err != nil {
		return fmt.Errorf("%q is not a glob: a [ without its ], or a \\ at the end", text)
	}
	return nil
}

func checkRuleMatch(text string) error {
	if err := checkBytes(text, maxRuleMatch); err != nil {
		return err
	}
	return checkPattern(text)
}

func checkAnswer(text string) error {
	if err := checkBytes(text, maxRuleText); err != nil {
		return err
	}
	return checkNotEmpty(text)
}

func checkBytes(text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("is longer than %d bytes", most)
	}
	return nil
}

func checkSecretGlob(text string) error {
	ref := strings.ReplaceAll(text, "*", "x")
	if !strings.Contains(ref, "#") {
		ref += "#x"
	}
	if _, ok := core.RequestedSecretRef(ref); !ok {
		return fmt.Errorf("%q is no pattern of references such as vault:agents/**", schema.Clip(text))
	}
	if _, err := path.Match(text, ""); err != nil {
		return fmt.Errorf("%q is not a glob: a [ without its ], or a \\ at the end", text)
	}
	return nil
}

func eventWords() []string {
	words := []string{string(core.AllEvents)}
	for _, kind := range core.PublicEvents {
		words = append(words, string(kind))
	}
	return words
}
