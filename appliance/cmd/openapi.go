package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) openapiCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "openapi",
		Short: "Print the server's OpenAPI document",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				document, err := api.OpenAPI(ctx)
				if err != nil {
					return err
				}
				return c.showJSON(document)
			})
		},
	}
}
