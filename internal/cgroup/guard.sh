# Removes the cgroups "$@" and those in them after its standard input closes. The kernel
# frees a group some milliseconds after its processes are killed.
cat >/dev/null
for group; do
	for _ in $(seq 200); do
		[ -d "$group" ] || break
		rmdir "$group"/*/ "$group" 2>/dev/null && break
		sleep 0.05
	done
done
