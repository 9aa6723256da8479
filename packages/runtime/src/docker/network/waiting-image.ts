import { createHash } from 'node:crypto';
import { arch } from 'node:process';
import { Readable } from 'node:stream';
import { unavailable, unsupported } from '@toolhive/contract/failure';
import { pack } from 'tar-stream';
import { inspectImage } from '../images.ts';
import { type Engine, followProgress } from '../engine.ts';

/** Where the program is in its image. */
export const WAITING_PROGRAM = '/pause';

/**
 * Machine code that reads its standard input until the end and then exits. It has a few bytes and no libraries, so
 * the container uses almost no memory and ends with the attached daemon.
 */
const programs: Partial<Record<NodeJS.Architecture, { machine: number; code: string }>> = {
  x64: {
    machine: 62,
    code: [
      '31ff', // xor edi, edi: standard input
      '488d7424f0', // lea rsi, [rsp - 16]
      'ba01000000', // mov edx, 1
      '31c0', // xor eax, eax: read
      '0f05', // syscall
      '85c0', // test eax, eax
      '7ff8', // jg: read again
      'b83c000000', // mov eax, 60: exit
      '31ff', // xor edi, edi
      '0f05', // syscall
    ].join(''),
  },
  arm64: {
    machine: 183,
    code: [
      'ff4300d1', // sub sp, sp, #16
      '000080d2', // mov x0, #0: standard input
      'e1030091', // mov x1, sp
      '220080d2', // mov x2, #1
      'e80780d2', // mov x8, #63: read
      '010000d4', // svc #0
      '1f0000f1', // cmp x0, #0
      '4cffff54', // b.gt: read again, six instructions before
      '000080d2', // mov x0, #0
      'a80b80d2', // mov x8, #93: exit
      '010000d4', // svc #0
    ].join(''),
  },
};

const BASE_ADDRESS = 0x400000;
const ELF_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;

/** The program as a static ELF executable with one segment (System V ABI, chapters 4 and 5). */
export function waitingProgram(architecture: NodeJS.Architecture = arch): Buffer {
  const program = programs[architecture];
  if (program === undefined) {
    throw unsupported(`network rules for containers are not available on ${architecture}`, {
      hint: 'use a machine with an x64 or arm64 processor',
    });
  }
  const code = Buffer.from(program.code, 'hex');
  const headers = Buffer.alloc(ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES);
  const size = headers.length + code.length;
  Buffer.from('7f454c46020101', 'hex').copy(headers); // 64 bits, little-endian, version 1
  headers.writeUInt16LE(2, 16); // executable
  headers.writeUInt16LE(program.machine, 18);
  headers.writeUInt32LE(1, 20);
  headers.writeBigUInt64LE(BigInt(BASE_ADDRESS + headers.length), 24); // where it begins
  headers.writeBigUInt64LE(BigInt(ELF_HEADER_BYTES), 32); // the program header
  headers.writeUInt16LE(ELF_HEADER_BYTES, 52);
  headers.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
  headers.writeUInt16LE(1, 56);
  headers.writeUInt32LE(1, 64); // to be loaded
  headers.writeUInt32LE(5, 68); // readable and executable
  for (const at of [80, 88]) headers.writeBigUInt64LE(BigInt(BASE_ADDRESS), at);
  for (const at of [96, 104]) headers.writeBigUInt64LE(BigInt(size), at);
  headers.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([headers, code]);
}

/** Makes sure that the engine has the image of the program, and returns its name. Asks no registry. */
export async function ensureWaitingImage(engine: Engine, signal: AbortSignal): Promise<string> {
  const program = waitingProgram();
  const name = `toolhive-pause-${createHash('sha256').update(program).digest('hex').slice(0, 12)}`;
  if ((await inspectImage(engine, name, signal)) !== undefined) return name;
  const archive = pack();
  archive.entry({ name: WAITING_PROGRAM.slice(1), mode: 0o755 }, program);
  archive.finalize();
  const progress = followProgress(engine, {
    method: 'POST',
    path: '/images/create',
    query: { fromSrc: '-', repo: name },
    body: { tar: Readable.from(archive) },
    signal,
  });
  for await (const { error } of progress) {
    if (error !== undefined) throw unavailable(`the container engine cannot import an image: ${error}`);
  }
  return name;
}
