import { escaped } from '@toolhive/contract/printable';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { standardError } from './standard-streams.ts';
import { boundedLog } from './bounded-log.ts';

/** Fields that never appear in a log. */
const redacted = [
  'env',
  '*.env',
  'env_vars',
  '*.env_vars',
  'secrets',
  '*.secrets',
  'password',
  '*.password',
  'authorization',
  '*.authorization',
];

/** The log of this process: lines for a person on standard error, or JSON for the file at `path`. */
export function openLog({ debug, path }: { debug: boolean; path?: string | undefined }): Logger {
  const options = { level: debug ? 'debug' : 'info', base: { pid: process.pid }, redact: redacted };
  return path === undefined
    ? pino(options, { write: (line) => writeForPeople(line) })
    : pino(options, withoutControls(boundedLog({ path, descriptor: 2 })));
}

/** JSON escapes only some of the characters that a terminal interprets. */
function withoutControls(log: { write(line: string): void }): { write(line: string): void } {
  return { write: (line) => log.write(escaped(line)) };
}

const levels: Record<number, { name: string; colour: 'dim' | 'green' | 'yellow' | 'red' }> = {
  20: { name: 'DEBUG', colour: 'dim' },
  30: { name: 'INFO', colour: 'green' },
  40: { name: 'WARN', colour: 'yellow' },
  50: { name: 'ERROR', colour: 'red' },
};

function writeForPeople(line: string): void {
  const { level, time, pid: _pid, msg, err, ...fields } = JSON.parse(line) as PinoRecord;
  const { name, colour } = levels[level] ?? { name: String(level), colour: 'dim' };
  const clock = new Date(time).toTimeString().slice(0, 8);
  const details = Object.entries(fields).map(
    ([key, value]) => ` ${inLine(key)}=${inLine(typeof value === 'string' ? value : JSON.stringify(value))}`,
  );
  const painted = standardError.paint(colour, name.padEnd(5));
  const stack = err?.stack?.split('\n').map((part) => `  ${inLine(part)}\n`) ?? [];
  standardError.write(`${clock} ${painted} ${inLine(msg ?? '')}${details.join('')}\n${stack.join('')}`);
}

/** Text from a server or a registry can neither control the terminal nor look like further lines of the log. */
function inLine(text: string): string {
  return escaped(text).replace(/[\t\n]/g, (character) => (character === '\n' ? '\\n' : '\\t'));
}

interface PinoRecord {
  level: number;
  time: number;
  msg?: string;
  err?: { stack?: string };
  [field: string]: unknown;
}
