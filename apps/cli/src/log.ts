import { styleText } from 'node:util';
import { pino } from 'pino';
import type { Logger } from 'pino';
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
    : pino(options, boundedLog({ path, descriptor: process.stderr.fd }));
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
    ([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const painted = styleText(colour, name.padEnd(5), { stream: process.stderr });
  process.stderr.write(
    `${clock} ${painted} ${msg ?? ''}${details.join('')}\n${err?.stack === undefined ? '' : `${err.stack}\n`}`,
  );
}

interface PinoRecord {
  level: number;
  time: number;
  msg?: string;
  err?: { stack?: string };
  [field: string]: unknown;
}
