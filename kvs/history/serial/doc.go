// Package serial decides whether a history of transactions is strictly serializable: whether
// one order of the committed transactions explains every read and agrees with real time, as
// each transaction takes effect between its call and its return (Papadimitriou, "The
// serializability of concurrent database updates", JACM 1979, with the real-time order of
// Herlihy and Wing).
//
// The general problem is NP-complete, because the order of the writes of a key is not known.
// Here it is known: a value names its writer, and either the store tells a version with each
// operation, or every write of a key follows a read of it in the same transaction (Tan and
// others, "MTC", arXiv 2504.02344). The dependencies of Adya ("Weak consistency", MIT 1999,
// chapter 4) then form one graph, and the history is right if and only if no table below has
// an entry and the graph has no cycle. For n operations this takes O(n log n) time.
//
// The tables come first, because their names say most: a read of an aborted attempt (G1a), of
// a write that its own transaction replaced (G1b), or of a value that nobody wrote; an own
// write that the transaction does not see, two reads of one key that differ; two transactions
// that replaced one value (lost update); a value that is back after its successor; a
// transaction with one write that is there and another that never was (partial commit).
//
// The graph's nodes are the transactions and barriers. A barrier stands for a moment: each
// transaction that returned before it has an edge to it, each one that was called after it an
// edge from it, and each barrier an edge to the next one. So real time takes O(n) edges. Nodes
// without an edge in or out are on no cycle, and are removed first: nothing is left of a right
// history. What is left is searched with growing sets of edges, and the first set with a cycle
// names the fault: writes only G0, and reads of them G1c, and one overwritten read G-single,
// and more of these G2, and real time stale. The cycle shown has the fewest transactions.
//
// No right store is accused. An attempt with an unknown outcome counts as committed if a
// committed transaction read one of its writes, and otherwise not at all; it never returns. A
// value by a writer, or from a time, that was not recorded may have been written at any time
// that its writer's span allows. A blind write without a version has no order among the writes
// of its key. Deletes are not recorded.
package serial
