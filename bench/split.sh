#!/usr/bin/env bash
# The network namespaces of bench/split.py: a host each, and one with the bridges, so that nothing is seen
# outside.
#
#     make HOST=ADDRESS...      the hosts, joined by a bridge at their devices eth0
#     connect BRIDGE DEVICE     a device for each host, at a new bridge that joins them
#     up DEVICE                 makes a device of every host ready that somebody else has made
#     route DEVICE              has all packets between the hosts take the way of that device
#     clear                     ends what runs in them, and deletes them with every link
#
# Each host's address is on its loopback device, and a route to each other host says which way packets take.
set -euo pipefail
prefix=pgboost-bench-
switch=${prefix}switch
patience=10

existing() { ip netns list | awk -v prefix="$prefix" 'index($1, prefix) == 1 {print $1}'; }
hosts() { existing | grep -v "^$switch\$"; }
processes() { for name in $(existing); do ip netns pids "$name"; done; }

make() {
    ip netns add "$switch"
    for host in "$@"; do
        name=$prefix${host%%=*}
        ip netns add "$name"
        # No packet but the servers' and the load generators' own is on a link, and a connection learns
        # nothing from one that met another delay.
        ip netns exec "$name" sysctl --quiet --write net.ipv6.conf.all.disable_ipv6=1 \
            net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 net.ipv4.tcp_no_metrics_save=1
        ip -n "$name" link set lo up
        ip -n "$name" address add "${host#*=}/32" dev lo
    done
    connect bridge eth0
    route eth0
}

connect() {
    ip -n "$switch" link add "$1" type bridge
    ip -n "$switch" link set "$1" up
    for name in $(hosts); do
        port=$2-${name#"$prefix"}
        ip -n "$switch" link add "$port" type veth peer name "$2" netns "$name"
        ip -n "$switch" link set "$port" master "$1" up
        ip -n "$name" link set "$2" up
    done
}

up() { for name in $(hosts); do ip -n "$name" link set "$1" txqueuelen 10000 up; done; }

address() { ip -n "$1" -oneline -4 address show dev lo | awk '$4 ~ /^10\./ {sub("/.*", "", $4); print $4}'; }

route() {
    for name in $(hosts); do
        for other in $(hosts); do
            [ "$name" = "$other" ] ||
                ip -n "$name" route replace "$(address "$other")/32" dev "$1" src "$(address "$name")"
        done
    done
}

clear() {
    for signal in TERM KILL; do
        processes | xargs --no-run-if-empty kill "-$signal" 2>/dev/null || true
        for _ in $(seq $((patience * 20))); do
            [ -n "$(processes)" ] || break
            sleep 0.05
        done
    done
    for name in $(existing); do ip netns delete "$name"; done
}

"$@"
