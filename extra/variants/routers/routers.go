// Package routers holds routers that studies compare with those of kvs/route.
package routers

import "kvlab/kvs/route"

// Rows are the routers.
var Rows = []route.Row{
	{Name: "jump", Description: "moves 1/n of the keys when server n joins, by jump consistent hashing", Open: newJump},
	{Name: "ring", Description: "moves about as many, by consistent hashing with 1024 virtual nodes a server", Open: newRing},
	{Name: "xor", Description: "spreads the keys by a hash of shifts and exclusive ors", Open: newXor},
	{Name: "multiplicative", Description: "spreads the keys by a multiplication of their FNV-1a hash", Open: newMultiplicative},
}
