package launch

import (
	"testing"

	"kvlab/internal/fakecluster"
)

func TestMain(m *testing.M) { fakecluster.Main(m, Kind) }
