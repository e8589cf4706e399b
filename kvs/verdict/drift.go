package verdict

// checkDrift: the rate in the window's second half is that in its first, as far as its seconds
// can tell.
func checkDrift(run *judged) finding {
	d := run.Drift
	switch {
	case run.Restart != nil:
		return inapplicable("--restart-at: a server was away in the window")
	case d == nil:
		return inapplicable("-secs: fewer than 4 whole seconds")
	case !d.Stationary:
		return doubted("", "the rate drifted by %+.0f %% from the first half of the window to the second", 100*d.DriftShare)
	}
	return passed("the rate drifted by %+.1f %% from the first half of the window to the second, trend p %.2g", 100*d.DriftShare, d.TrendP)
}
