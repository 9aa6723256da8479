# Prepares the network namespaces of an egress gateway (the first argument says how), and reports the outcome in a line.
# Meanwhile, it becomes the program in the arguments after the eighth one.
step=$1 ip=$2 nsenter=$3
resolver=$4 server=$5 shared=$6 # addresses
address=$7 pid=$7 device=$8 # depend on the step
shift 8

# The commands for a gateway's namespace. The route makes every address local there. It is in the table `main`, because
# the table `local` would also capture the replies. The large MTU makes streams faster, because no real network connects
# the two.
set_up_gateway() {
  "$ip" -batch - <<COMMANDS
link set lo up
link add gateway type veth peer name $1
addr add $resolver/30 dev gateway
link set gateway mtu 65535 up
route add local default dev lo table main
COMMANDS
}

# The commands for a server's namespace, which has its end of the pair already.
set_up_server() {
  "$@" "$ip" -batch - <<COMMANDS
link set lo up
addr add $server/30 dev eth0
link set eth0 mtu 65535 up
route add default via $resolver
COMMANDS
}

case $step in
  # In a gateway's namespace, with the server's namespace as descriptor 4.
  connect)
    run() { set_up_gateway 'eth0 netns /proc/self/fd/4' && set_up_server "$nsenter" --net=/proc/self/fd/4; }
    ;;
  # The same without the server's namespace. The end for the server keeps its name and waits in the gateway's.
  prepare)
    run() { set_up_gateway "$device"; }
    ;;
  # In a server's namespace, with power over both: fetches the server's end from the namespace of a process.
  fetch)
    exec 4</proc/self/ns/net
    "$nsenter" --net="/proc/$pid/ns/net" "$ip" link set "$device" netns /proc/self/fd/4 name eth0 && set_up_server
    exit
    ;;
  # In the namespace that the gateways of all sandboxes share. Everything that arrives ends there: the kernel forwards
  # nothing from one sandbox to another, whatever the machine's settings for forwarding are. Only replies, which begin
  # there, take the routes of the table `main`, which lead to the sandboxes. A packet whose source is not the address of
  # its sandbox is dropped (`rp_filter`), so that the address identifies the sandbox.
  share)
    run() {
      for one in all default; do echo 1 >"/proc/sys/net/ipv4/conf/$one/rp_filter" || return 1; done
      "$ip" -batch - <<COMMANDS
link set lo up
route add local default dev lo table local
rule add preference 100 iif lo table main
rule add preference 101 table local
rule del preference 0
COMMANDS
    }
    ;;
  # In a sandbox's namespace, with the shared one as descriptor 4.
  join)
    run() {
      "$ip" -batch - <<LINK && "$nsenter" --net=/proc/self/fd/4 "$ip" -batch - <<GATEWAY && "$ip" -batch - <<SERVER
link add eth0 type veth peer name $device netns /proc/self/fd/4
LINK
addr add $shared peer $address dev $device
link set $device mtu 65535 up
GATEWAY
link set lo up
addr add $resolver/32 dev lo
addr add $address peer $shared dev eth0
link set eth0 mtu 65535 up
route add default via $shared
SERVER
    }
    ;;
  # For further sockets in a namespace that is connected already.
  listen)
    run() { :; }
    ;;
  *)
    run() { echo "unknown step $step"; return 1; }
    ;;
esac

if run 2>&1; then echo connected; else echo failed; fi &
exec "$@"
