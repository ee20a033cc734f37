#!/usr/bin/env bash
# Drives the screens in a real terminal (tmux): every screen of a saved run at
# 80x24 and 160x50, a quit that restores the terminal, and the end by signals.
# Usage: tmux-smoke.sh path/to/tcdbg
set -euo pipefail
tcdbg=$(realpath "$1")
work=$(mktemp -d)
socket=tcdbg-smoke-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/state
mkdir -p "$work/trace"
cat >"$work/model.go" <<'EOF'
package main

import (
	"fmt"

	"tcdbg/torch"
)

func step(x *torch.Tensor) *torch.Tensor {
	y := x.Sin().Mul(x.Cos())
	if y.Sum().Gt(0).Bool() {
		y = y.Mul(2)
	}
	return y
}

func main() {
	fmt.Println(torch.Compile(step)(torch.Ones(8)).Shape())
	fmt.Println("hello from the program")
}
EOF
tm() { tmux -L "$socket" "$@"; }
frame() { tm capture-pane -p -t smoke; }

# await TEXT: until the frame holds it; gives up after 30 s.
await() {
	for _ in $(seq 600); do
		if frame | grep -qF -- "$1"; then return 0; fi
		sleep 0.05
	done
	echo "smoke: the frame never showed: $1" >&2
	frame >&2
	exit 1
}

tm -f /dev/null new-session -d -s keep sh # the server outlives the sessions below

for size in 80x24 160x50; do
	tm -f /dev/null new-session -d -s smoke -x "${size%x*}" -y "${size#*x}" \
		"env XDG_STATE_HOME=$XDG_STATE_HOME sh"
	tm send-keys -t smoke "stty -a >$work/before; $tcdbg run $work/model.go; echo code=\$?; stty -a >$work/after" Enter
	await "exit 0"
	while read -r key text; do
		tm send-keys -t smoke "$key"
		await "$text"
	done <<-'SCREENS'
		2 x.Sin().Mul(x.Cos())
		3 GB0170
		4 No recompiles
		5 TENSOR_MATCH
		6 operators
		7 fusion round 1
		8 generated kernels
		9 TIME BY PHASE
		0 records
		7 fusion round 1
	SCREENS
	tm send-keys -t smoke Right Right
	await "KERNELS"
	tm send-keys -t smoke -- -
	await "hello from the program"
	tm send-keys -t smoke "?"
	await "What did the program print?"
	tm send-keys -t smoke Escape
	sleep 0.3 # a key right after Escape would count as one with Alt
	await "hello from the program"
	tm send-keys -t smoke q
	await "code=0"
	tm send-keys -t smoke "echo done=yes" Enter
	await "done=yes"
	cmp "$work/before" "$work/after"
	tm kill-session -t smoke
done

# A program that is left running runs on, and replay shows it until its end.
cat >"$work/waits.go" <<'EOF2'
package main

import (
	"fmt"
	"os"
	"time"

	"tcdbg/torch"
)

func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin().Add(1) })
	fmt.Println(f(torch.Ones(8)).Shape())
	for {
		if _, err := os.Stat(os.Args[1]); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Println("ends by itself")
}
EOF2
tm -f /dev/null new-session -d -s smoke -x 80 -y 24 "env XDG_STATE_HOME=$XDG_STATE_HOME sh"
tm send-keys -t smoke "$tcdbg run $work/waits.go $work/go-on" Enter
await "1g"
tm send-keys -t smoke q
await "is still running"
tm send-keys -t smoke l
await "keeps running"
tm send-keys -t smoke "clear; $tcdbg replay last; echo code=\$?" Enter
await "live"
touch "$work/go-on"
await "exit 0"
tm send-keys -t smoke -- -
await "ends by itself"
tm send-keys -t smoke q
await "code=0"
tm kill-session -t smoke

# The viewer opens where it was left, on the program's output, and ends by SIGTERM and SIGHUP with the terminal as it was.
for sig in TERM HUP; do
	tm -f /dev/null new-session -d -s smoke -x 100 -y 30 "env XDG_STATE_HOME=$XDG_STATE_HOME sh"
	tm send-keys -t smoke "stty -a >$work/before; sh -c 'echo \$\$ >$work/pid; exec $tcdbg replay last'; echo code=\$?; stty -a >$work/after" Enter
	await "ends by itself"
	kill -"$sig" "$(cat "$work/pid")"
	await "code=1"
	tm send-keys -t smoke "echo done=yes" Enter
	await "done=yes"
	cmp "$work/before" "$work/after"
	tm kill-session -t smoke
done
echo "smoke: screens at 80x24 and 160x50, quit, leaving a program running, SIGTERM, SIGHUP: ok"
