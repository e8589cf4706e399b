// Package plots turns a run folder, or many, into tables, figures and one HTML
// report.
//
// A picture is made in four steps, and only the first and the last touch a
// disk:
//
//  1. Load reads run.json and every node's .jsonl file into a Run.
//  2. Series functions (throughputs, usages, ...) turn a Run into numbers.
//  3. Figure functions (ThroughputFigure, ...) turn numbers into a Figure.
//  4. Draw and DrawScaling write each Figure as PNG and SVG.
//
// Report and SweepReport make one page of it all: sections, with the same Figures
// drawn for wide and for narrow pages, and the Readings that they give who points.
//
// A sweep's folder goes the same way: LoadSweep reads its plan and trials, lines
// are its numbers, ScalingFigures its figures, and DrawSweep writes them. ReadScale
// and Compare judge results instead of drawing them.
//
// Nodes are lined up by the wall clock of their records: second 0 is the start
// of the run's common window. Every picture of a run that is not valid says so.
package plots
