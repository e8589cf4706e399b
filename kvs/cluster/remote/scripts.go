package remote

// probeScript reports the node's system and whether it has the program. The folder is in
// /tmp because home is often NFS over the control network, and must belong to the user
// alone. The numbers are statfs(2)'s for NFS, CIFS, SMB, AFS and Ceph; package node has
// their names. The script removes programs that are unused for a week.
const probeScript = `set -eu
umask 077
dir=/tmp/kvlab-$(id -un)
mkdir -p "$dir"
if [ -L "$dir" ] || [ ! -O "$dir" ]; then
	echo "$dir belongs to somebody else" >&2
	exit 1
fi
chmod 700 "$dir"
case $(stat -f -c %t "$dir") in
6969 | ff534d42 | fe534d42 | 517b | 5346414f | c36400)
	echo "$dir is on a network file system, which programs must not run from" >&2
	exit 1
	;;
esac
find "$dir" -mindepth 1 -maxdepth 1 -type d -mtime +7 -exec rm -rf {} + 2>/dev/null || true
mkdir -p "$dir/$folder"
touch "$dir/$folder"
echo "kvlab system $(uname -sm)"
echo "kvlab dir $dir"
if [ "$(sha256sum <"$dir/$folder/$program" 2>/dev/null)" = "$sum  -" ] && [ -x "$dir/$folder/$program" ]; then
	echo "kvlab have"
else
	echo "kvlab need"
fi
`

// receiveScript installs the program that follows it on standard input. It removes a
// program that arrives incomplete. A killed launcher closes the pipe, and a timeout ends
// the wait behind a cut network. A shell parses the whole group before it runs it, so
// the script reads the program after its own last line.
const receiveScript = `{
set -eu
umask 077
file=$path.$$
trap 'rm -f "$file"' EXIT
trap 'exit 1' HUP INT PIPE TERM
echo "kvlab send"
timeout "$limit" cat >"$file"
if [ "$(sha256sum <"$file")" != "$sum  -" ]; then
	echo "the copy of $program arrived damaged" >&2
	exit 1
fi
chmod 500 "$file"
mv -f "$file" "$path"
echo "kvlab installed"
exit
}
`
