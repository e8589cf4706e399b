// Command kvsfake is a fake node.
package main

import "kvlab/internal/fakenode"

func main() { fakenode.Main() }
