package cmd

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) executionTimeline() *cobra.Command {
	return shows(c, &cobra.Command{
		Use:   "timeline ID",
		Short: "Show what happened in an execution as a tree",
		Long: "Show the steps of an execution with their tasks, messages and questions, how long each took and who did\n" +
			"it. On a terminal that is wide enough a bar shows when. `execution watch` shows the same as it happens.",
	}, func(api *client.Client, ctx context.Context, id string) (*timelineTree, error) {
		return readTimeline(ctx, api, id)
	}, func(s *screen, tree *timelineTree) {
		how := c.timelineStyle()
		how.paint = s.paint
		s.line("%s", tree.headline(s.paint, 0))
		for _, line := range tree.draw(&how, tree.lines(&how), 0) {
			s.line("%s", line)
		}
	})
}

// readTimeline reads a timeline, and what is asked of people in it.
func readTimeline(ctx context.Context, api *client.Client, id string) (*timelineTree, error) {
	t, err := api.GetTimeline(ctx, id)
	if err != nil {
		return nil, err
	}
	var asked []client.Question
	if asks(t) {
		filter := client.QuestionFilter{ExecutionID: id, Status: client.QuestionOpen, Page: client.Page{Limit: allLimit}}
		// Without them the tree still says how to answer, only not with which options.
		if list, err := api.ListQuestions(ctx, filter); err == nil {
			asked = list.Questions
		}
	}
	return newTimelineTree(t, asked), nil
}

// timelineStyle fits drawings to where they are shown. Without a terminal COLUMNS gives the width.
func (c *cli) timelineStyle() timelineStyle {
	width, _ := c.size()
	s := timelineStyle{paint: c.painter(c.deps.Stdout), unicode: c.unicode(), spin: -1, width: width}
	if width, err := strconv.Atoi(c.deps.Getenv("COLUMNS")); s.width == 0 && err == nil && width > 0 {
		s.width = width
	}
	return s
}

// drawsInPlace reports whether a drawing can be made over the one before.
func (c *cli) drawsInPlace(out io.Writer) bool { return c.tables() && c.knowsSequences(out) }

// unicode reports whether the locale shows more than ASCII.
func (c *cli) unicode() bool {
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(c.deps.Getenv(key)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}
