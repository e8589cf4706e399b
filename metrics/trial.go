package metrics

// TrialOf returns a run's result as a trial of a sweep. folder is the run's, below
// the sweep's.
func TrialOf(planned PlannedTrial, folder string, run Run) Trial {
	trial := Trial{
		PlannedTrial: planned,
		Folder:       folder,
		Started:      run.Started,
		Ended:        run.Ended,
		Servers:      run.Count(Server),
		Clients:      run.Count(Client),
		Ops:          run.Ops,
		WindowS:      run.WindowS,
		OpsPerS:      run.OpsPerS,
		Verdict:      run.Verdict,
	}
	trial.Workers = run.Workers()
	if calls, ok := run.Latency[CallLatency]; ok {
		trial.P50, trial.P99 = calls.P50, calls.P99
	}
	if run.WarmUp != nil {
		trial.NonStationary = !run.WarmUp.Stationary
	}
	if run.Ceiling != nil {
		trial.Headroom, trial.ClientBound = run.Ceiling.Headroom, run.Ceiling.ClientBound
	}
	if run.Bottleneck != nil {
		trial.Bottleneck = run.Bottleneck.Kind
	}
	if ops, ok := run.Latency[OpLatency]; ok {
		trial.OpP50, trial.OpP99 = ops.P50, ops.P99
	}
	if run.Offered != nil {
		trial.OfferedOpsPerS = run.Offered.OpsPerS
	}
	trial.LinkBitsPerS = run.Preflight.slowestLink()
	if run.Lab != nil {
		trial.LinkBitsPerS = run.Lab.LinkBitsPerS
	}
	var carried Bytes
	for _, s := range run.Summaries(Client) {
		carried = carried.Add(s.BytesInWindow)
	}
	if ops := run.InWindow().Ops(); ops > 0 {
		trial.BytesPerOpSent = float64(carried.Sent) / float64(ops)
		trial.BytesPerOpReceived = float64(carried.Received) / float64(ops)
	}
	return trial
}

// Stamps are warnings shown beside the verdict of a VALID trial.
func (t Trial) Stamps() []string {
	var stamps []string
	if t.NonStationary {
		stamps = append(stamps, "NON-STATIONARY")
	}
	if t.ClientBound {
		stamps = append(stamps, "CLIENT-BOUND")
	}
	return stamps
}
