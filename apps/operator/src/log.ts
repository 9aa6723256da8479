import { escaped } from '@toolhive/contract/printable';
import { pino } from 'pino';
import type { Logger } from 'pino';

/** Fields that never appear in a log. */
const redacted = ['env', '*.env', 'secrets', '*.secrets', 'authorization', '*.authorization'];

/** A log of JSON lines on standard output, for the log collector of a cluster. */
export function openLog({ debug }: { debug: boolean }): Logger {
  const options = {
    level: debug ? 'debug' : 'info',
    base: {},
    redact: redacted,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // JSON escapes only some of the characters that a terminal interprets.
  return pino(options, {
    write: (line) => {
      process.stdout.write(escaped(line));
    },
  });
}
