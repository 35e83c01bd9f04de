package wire

// PageInfo comes back with each page of a list.
type PageInfo struct {
	Total      int    `json:"total"` // true count of all rows that match, unless AtLeast
	AtLeast    bool   `json:"totalAtLeast,omitempty" doc:"total is a lower bound: there are many, and counting ended there."`
	Limit      int    `json:"limit"`
	Offset     int    `json:"offset"`
	HasMore    bool   `json:"hasMore"`
	NextCursor string `json:"nextCursor,omitempty" doc:"cursor of the next page; absent on the last."`
}
