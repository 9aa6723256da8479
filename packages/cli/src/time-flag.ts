import { invalid } from '@toolhive/contract/failure';
import { millisecondsOf } from './duration.ts';

/** The value of a flag as RFC 3339: a time, or the time that lies a duration before now. Throws `invalid`. */
export function timeFrom(text: string | undefined, flag: string): string | undefined {
  if (text === undefined) return undefined;
  const beforeMs = millisecondsOf(text);
  const ms = beforeMs === undefined ? Date.parse(text) : Date.now() - beforeMs;
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw invalid(`invalid --${flag}: ${JSON.stringify(text)} is neither a time nor a duration`, {
    hint: 'write 2026-01-31T09:00:00Z, or 2h for two hours ago',
  });
}
