package metrics

import "strings"

// Class says in a few words how programs were contained, and which walls did not hold: ""
// of those that were not.
func (c *Containment) Class() string {
	if c == nil {
		return ""
	}
	var missing []string
	for _, wall := range c.Walls {
		if !wall.Held {
			missing = append(missing, wall.Name)
		}
	}
	text := "contained (" + strings.ReplaceAll(c.Limits, ",", " ")
	if len(missing) > 0 {
		text += "; not held: " + strings.Join(missing, " ")
	}
	return text + ")"
}
