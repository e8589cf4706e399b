# Installs a program on a node, unless the node has it. The launcher sets these variables in
# front of the script: program, sum (its SHA-256), folder, system (uname -sm), and limit
# (seconds). After the answer "send" the program follows on standard input: a shell parses
# the whole group before it runs it, so the script reads what follows its own last line.
{
set -eu
umask 077
echo "kvlab begun" # the login has ended
if [ "$(uname -sm)" != "$system" ]; then
	echo "is a \"$(uname -sm)\" machine, and the programs are built for \"$system\"" >&2
	exit 1
fi
# The folder is in /tmp because home is often NFS over the control network, and must belong
# to the user alone. Its name stands unquoted in command lines.
dir=/tmp/kvlab-$(id -un)
case $dir in
*[!A-Za-z0-9._/-]*)
	echo "unusable folder \"$dir\"" >&2
	exit 1
	;;
esac
mkdir -p "$dir"
if [ -L "$dir" ] || [ ! -O "$dir" ]; then
	echo "$dir belongs to somebody else" >&2
	exit 1
fi
chmod 700 "$dir"
# The numbers are statfs(2)'s for NFS, CIFS, SMB, AFS and Ceph; package node has their names.
case $(stat -f -c %t "$dir") in
6969 | ff534d42 | fe534d42 | 517b | 5346414f | c36400)
	echo "$dir is on a network file system, which programs must not run from" >&2
	exit 1
	;;
esac
# Programs that are unused for a week are removed.
find "$dir" -mindepth 1 -maxdepth 1 -type d -mtime +7 -exec rm -rf {} + 2>/dev/null || true
mkdir -p "$dir/$folder"
touch "$dir/$folder"
path=$dir/$folder/$program
if [ -x "$path" ] && [ "$(sha256sum <"$path")" = "$sum  -" ]; then
	chmod 555 "$path"
	echo "kvlab path $path"
	exit
fi
# A program that arrives incomplete is removed. The file gets its name when it is complete,
# so that another run never starts half a program. A killed launcher closes the pipe, and a
# timeout ends the wait behind a cut network.
file=$path.$$
trap 'rm -f "$file"' EXIT
trap 'exit 1' HUP INT PIPE TERM
echo "kvlab send"
timeout "$limit" cat >"$file"
if [ "$(sha256sum <"$file")" != "$sum  -" ]; then
	echo "the copy of $program arrived damaged" >&2
	exit 1
fi
chmod 555 "$file" # a contained program has another user; the folder is this one's alone
mv -f "$file" "$path"
echo "kvlab path $path"
exit
}
