package format_test

import (
	"fmt"

	"kvlab/metrics/format"
)

func ExampleCount() {
	fmt.Println(format.Count(25_948_794), format.Count(258_944), format.Count(0.5))
	// Output: 25.9M 259k 0.5
}
