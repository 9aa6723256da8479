import { constants } from 'node:os';
import { type Architecture, auditArchitecture, deniedCalls, inspectedCalls } from './syscalls.ts';

export interface FilterOptions {
  architecture: Architecture;
  /** Whether the server may open Unix sockets. Pipes and socket pairs to its children are always allowed. */
  unixSockets: boolean;
}

/**
 * The system call filter of a sandbox: a classic BPF program in the kernel's binary form, for `bwrap --seccomp`. A
 * foreign calling convention kills the process. A denied call fails with an ordinary error, so programs that only
 * probe for a feature continue.
 */
export function seccompFilter({ architecture, unixSockets }: FilterOptions): Buffer {
  const number = (call: keyof typeof inspectedCalls) => inspectedCalls[call][architecture];
  const denied = Object.values(deniedCalls).flatMap((call) => call[architecture] ?? []);
  return assemble([
    load(DATA.architecture),
    ...unless(auditArchitecture[architecture], [answer(KILL)]),
    load(DATA.call),
    // The x32 calling convention has different numbers, which this table does not contain.
    ...(architecture === 'x64' ? whenAtLeast(X32_BIT, [answer(KILL)]) : []),
    ...denied.flatMap((call) => when(call, [answer(refuse('EPERM'))])),
    // libc falls back to `clone`, whose flags the filter can read. The flags of `clone3` are behind a pointer.
    ...when(number('clone3'), [answer(refuse('ENOSYS'))]),
    ...when(number('clone'), [
      load(DATA.argument(0)),
      ...whenAny(NEW_NAMESPACES, [answer(refuse('EPERM'))]),
      answer(ALLOW),
    ]),
    ...when(number('ioctl'), [
      load(DATA.argument(1)),
      ...when(TIOCSTI, [answer(refuse('EPERM'))]),
      ...when(TIOCLINUX, [answer(refuse('EPERM'))]),
      answer(ALLOW),
    ]),
    ...when(number('socket'), [
      load(DATA.argument(0)),
      ...(unixSockets ? when(AF_UNIX, [answer(ALLOW)]) : []),
      ...when(AF_INET, [answer(ALLOW)]),
      ...when(AF_INET6, [answer(ALLOW)]),
      // Listing the network interfaces is all that an unprivileged process can do with this one.
      ...when(AF_NETLINK, [load(DATA.argument(2)), ...when(NETLINK_ROUTE, [answer(ALLOW)])]),
      answer(refuse('EAFNOSUPPORT')),
    ]),
    answer(ALLOW),
  ]);
}

/** Offsets in `struct seccomp_data`. For the 64-bit arguments, the lower half on a little-endian machine. */
const DATA = { call: 0, architecture: 4, argument: (index: number) => 16 + 8 * index };

const KILL = 0x80000000;
const ALLOW = 0x7fff0000;
const refuse = (error: 'EPERM' | 'ENOSYS' | 'EAFNOSUPPORT') => 0x00050000 | constants.errno[error];

const X32_BIT = 0x40000000;
/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} of linux/sched.h. */
const NEW_NAMESPACES = 0x7e020000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;

/** `struct sock_filter`: the operation, the jump distances for true and false, and the operand. */
interface Instruction {
  code: number;
  ifTrue: number;
  ifFalse: number;
  operand: number;
}

const load = (offset: number): Instruction => ({ code: 0x20, ifTrue: 0, ifFalse: 0, operand: offset });
const answer = (verdict: number): Instruction => ({ code: 0x06, ifTrue: 0, ifFalse: 0, operand: verdict });

type Block = Instruction[];

const jump = (code: number, operand: number, ifTrue: number, ifFalse: number): Instruction => ({
  code,
  ifTrue,
  ifFalse,
  operand,
});
const when = (value: number, block: Block): Block => [jump(0x15, value, 0, block.length), ...block];
const unless = (value: number, block: Block): Block => [jump(0x15, value, block.length, 0), ...block];
const whenAtLeast = (value: number, block: Block): Block => [jump(0x35, value, 0, block.length), ...block];
const whenAny = (bits: number, block: Block): Block => [jump(0x45, bits, 0, block.length), ...block];

function assemble(program: Block): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, ifTrue, ifFalse, operand }, index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  });
  return bytes;
}
