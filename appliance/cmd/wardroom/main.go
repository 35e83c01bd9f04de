// Command wardroom is the appliance and its command line in one binary.
//
// It owns the process only: its signals, its exit code, and which product the command tree runs. The
// commands are in the package above, the product in package appliance.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/appliance/cmd"
)

func main() {
	signaled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an orderly end. The second one kills: the default is back before that end begins.
	ctx, end := context.WithCancel(context.Background())
	context.AfterFunc(signaled, func() {
		stop()
		end()
	})
	code := cmd.Execute(ctx, cmd.Deps{
		Run: func(ctx context.Context, opts cmd.RunOptions) error {
			return appliance.Run(ctx, appliance.Options(opts))
		},
		Retention: appliance.Retention, CheckConfig: appliance.CheckConfig, Encryption: appliance.Encryption,
		Keys: appliance.OfflineKeys, AgentTokens: appliance.OfflineAgentTokens, ResetKeys: appliance.ResetKeys,
		Audit: appliance.OfflineAudit, RemovePlugin: appliance.OfflineRemovePlugin,
		Policy: cmd.PolicyTools{
			Check: appliance.CheckPolicy, Eval: appliance.EvalPolicy, EvalApproval: appliance.EvalApproval, Text: appliance.PolicyText,
		},
	}, os.Args[1:])
	stop()
	os.Exit(code)
}
