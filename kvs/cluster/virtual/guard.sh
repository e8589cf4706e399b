# A lab's guard: removes the cgroup $1 after its standard input closes. The kernel frees a
# group some milliseconds after its processes are killed.
cat >/dev/null
for _ in $(seq 200); do
	[ -d "$1" ] || exit 0
	rmdir "$1"/*/ "$1" 2>/dev/null && exit 0
	sleep 0.05
done
