# Reads secrets from the standard input into the environment, and becomes the server in the arguments after the first
# one. The secrets are lines NAME=value, with values as `printf %b` reads them, up to a line with a dot. A full stop
# after each value keeps the line breaks at its end. Only commands that are built into the shell may run, because the
# arguments of others are visible to other processes.
[ "$(command -v printf)" = printf ] || { echo 'the shell of this image cannot take secrets' >&2; exit 126; }
while IFS= read -r __secret && [ "$__secret" != . ]; do
  __value=$(printf '%b.' "${__secret#*=}")
  export "${__secret%%=*}=${__value%.}"
done
[ "$__secret" = . ] || exit 125
unset __secret __value
case $1 in
  stdio) shift && exec "$@" ;;
  # A server that speaks HTTP finds the end of its input immediately, as it would without this shell.
  http) shift && exec "$@" </dev/null ;;
esac
exit 125
