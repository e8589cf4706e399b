package plots

// Figures returns every figure of one run, in the report's order.
func Figures(r *Run) []Figure {
	return []Figure{ThroughputFigure(r), LatencyFigure(r), CPUFigure(r), NetworkFigure(r), MemoryFigure(r)}
}
