package api

func (s *Server) getTimeline(c *call) (answer, error) {
	t, err := s.opts.Executions.Timeline(c.ctx, c.param("executionId"))
	if err != nil {
		return answer{}, err
	}
	return ok(t), nil
}
