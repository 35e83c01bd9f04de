package plugin_test

import (
	"errors"
	"testing"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

var callerOfTest = secret.Caller{Component: "test"}

func TestSecretPlugin(t *testing.T) {
	c := configured(t, "secret")
	ctx := testContext(t)
	info, err := c.Info(ctx)
	if err != nil || info.Kind != plugin.KindSecret {
		t.Fatalf("%+v, %v", info, err)
	}
	results, err := c.Secret().Resolve(ctx, []secret.Ref{{Path: "a", Key: "b"}}, callerOfTest)
	if err != nil || len(results) != 1 || string(results[0].Value.Reveal()) != "value of a#b" {
		t.Errorf("%v, %v", results, err)
	}
	_, err = c.Secret().(secret.Watcher).Watch(ctx, nil)
	if e := secret.AsError(err); e == nil || e.Code != secret.CodeUnimplemented {
		t.Errorf("got %v", err)
	}
	if _, err := c.Runtime().List(ctx, runtime.ListFilter{}); runtime.ErrorCode(err) != runtime.CodeUnimplemented {
		t.Errorf("got %v", err)
	}
	if _, err := c.Audit().Open(ctx, 1); err == nil {
		t.Error("a secret provider opened an audit sink")
	}
}

func TestErrorsOfARuntime(t *testing.T) {
	c := configured(t, "plain")
	ctx := testContext(t)
	var e *runtime.Error
	if _, err := c.Runtime().Inspect(ctx, "missing"); !errors.As(err, &e) || *e != *runtime.NotFound("missing") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Runtime().Inspect(ctx, "foreign"); !errors.As(err, &e) || e.Code != runtime.CodeInternal {
		t.Errorf("got %v", err)
	}
	if _, err := c.Runtime().Attach(ctx, "missing", runtime.AttachOptions{}); runtime.ErrorCode(err) != runtime.CodeNotFound {
		t.Errorf("got %v", err)
	}
}
