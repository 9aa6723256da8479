# Makes every address local, and becomes the program in the arguments.
ip link set lo up && ip route add local default dev lo && exec "$@"
