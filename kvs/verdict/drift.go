package verdict

// silenceS is how long in seconds a client may be silent that reports each second: the launcher
// ends a run whose node is silent for longer (trial.DefaultTimeouts).
const silenceS = 8

// checkDrift: the rate in the window's second half is that in its first, as far as its seconds
// can tell.
func checkDrift(run *judged) finding {
	d := run.Drift
	switch {
	case run.Restart != nil:
		return inapplicable("--restart-at: a server was away in the window")
	case d == nil && run.WindowS >= 4*silenceS:
		return failed("", "the clients tell of fewer than 4 of the seconds of a window of %.0f s", run.WindowS)
	case d == nil && run.WindowS >= silenceS:
		return doubted("", "the clients tell of fewer than 4 of the seconds of a window of %.0f s", run.WindowS)
	case d == nil:
		return inapplicable("-secs: fewer than 4 whole seconds")
	case !d.Stationary:
		return doubted("", "the rate drifted by %+.0f %% from the first half of the window to the second", 100*d.DriftShare)
	}
	return passed("the rate drifted by %+.1f %% from the first half of the window to the second, trend p %.2g", 100*d.DriftShare, d.TrendP)
}
