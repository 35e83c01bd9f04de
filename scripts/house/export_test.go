package house

// TwinsWithout is CheckTwins without exceptions.
func TwinsWithout(t *Tree) []Finding { return checkTwins(t, nil) }
