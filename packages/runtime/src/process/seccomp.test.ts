import { constants } from 'node:os';
import { describe, expect, test } from 'vitest';
import { seccompFilter } from './seccomp.ts';

const X64 = 0xc000003e;
const I386 = 0x40000003;
const ARM64 = 0xc00000b7;
const { EPERM, ENOSYS, EAFNOSUPPORT } = constants.errno;

describe('the filter for x64', () => {
  const filter = seccompFilter({ architecture: 'x64', unixSockets: true });
  const verdict = (call: number, ...args: number[]) => run(filter, { architecture: X64, call, args });

  test.each([
    ['read', 0, [], 'allow'],
    ['mount', 165, [], EPERM],
    ['ptrace', 101, [], EPERM],
    ['unshare', 272, [], EPERM],
    ['io_uring_setup', 425, [], EPERM],
    ['clone3', 435, [], ENOSYS],
    ['clone of a thread', 56, [0x3d0f00], 'allow'],
    ['clone into a new user namespace', 56, [0x10000011], EPERM],
    ['an ordinary ioctl', 16, [0, 0x5401], 'allow'],
    ['ioctl TIOCSTI', 16, [0, 0x5412], EPERM],
    ['ioctl TIOCLINUX', 16, [0, 0x541c], EPERM],
    ['an internet socket', 41, [2, 1, 0], 'allow'],
    ['a Unix socket', 41, [1, 1, 0], 'allow'],
    ['a netlink socket for routes', 41, [16, 3, 0], 'allow'],
    ['a netlink socket for the firewall', 41, [16, 3, 12], EAFNOSUPPORT],
    ['a packet socket', 41, [17, 3, 0], EAFNOSUPPORT],
    ['a vsock', 41, [40, 1, 0], EAFNOSUPPORT],
    ['an x32 call', 0x40000000 | 1, [], 'kill'],
  ])('judges %s', (_name, call, args, expected) => {
    expect(verdict(call, ...args)).toBe(expected);
  });

  test('kills a process that calls the 32-bit way', () => {
    expect(run(filter, { architecture: I386, call: 1, args: [] })).toBe('kill');
  });
});

test('without Unix sockets only those are refused besides', () => {
  const filter = seccompFilter({ architecture: 'x64', unixSockets: false });

  const verdict = (...args: number[]) => run(filter, { architecture: X64, call: 41, args });

  expect(verdict(1, 1, 0)).toBe(EAFNOSUPPORT);
  expect(verdict(2, 1, 0)).toBe('allow');
});

test('arm64 has numbers of its own', () => {
  const filter = seccompFilter({ architecture: 'arm64', unixSockets: true });

  const verdict = (call: number, ...args: number[]) => run(filter, { architecture: ARM64, call, args });

  expect(verdict(40)).toBe(EPERM);
  expect(verdict(220, 0x10000000)).toBe(EPERM);
  expect(verdict(198, 17)).toBe(EAFNOSUPPORT);
  expect(verdict(63)).toBe('allow');
  expect(run(filter, { architecture: X64, call: 63, args: [] })).toBe('kill');
});

interface Call {
  architecture: number;
  call: number;
  args: number[];
}

/** The kernel's interpreter, as far as our programs use it. */
function run(program: Buffer, { architecture, call, args }: Call): 'allow' | 'kill' | number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call >>> 0, 0);
  data.writeUInt32LE(architecture, 4);
  args.forEach((value, index) => data.writeUInt32LE(value, 16 + 8 * index));
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at);
    const operand = program.readUInt32LE(at + 4);
    const jump = (holds: boolean) => (at += 8 * program.readUInt8(at + (holds ? 2 : 3)));
    if (code === 0x20) accumulator = data.readUInt32LE(operand);
    else if (code === 0x15) jump(accumulator === operand);
    else if (code === 0x35) jump(accumulator >= operand);
    else if (code === 0x45) jump((accumulator & operand) !== 0);
    else if (code === 0x06) return verdictOf(operand);
    else throw new Error(`instruction ${code}`);
  }
  throw new Error('the program ran off its end');
}

function verdictOf(value: number): 'allow' | 'kill' | number {
  if (value === 0x80000000) return 'kill';
  if (value === 0x7fff0000) return 'allow';
  return value & 0xffff;
}
