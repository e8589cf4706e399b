// Command kvsfake is a fake node.
package main

import "kvlab/kvs/cluster/fakenode"

func main() { fakenode.Main() }
