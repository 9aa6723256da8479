import { invalid } from '@toolhive/contract/failure';
import type { FlagValues } from '../command.ts';

/** The port in a flag. 0 selects a free port. Other numbers are refused. */
export function portFrom(flags: FlagValues, name = 'port'): number {
  return portOf(flags.number(name) ?? 0, `--${name}`);
}

/** The same for a number that stands somewhere else. */
export function portOf(port: number, where: string): number {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw invalid(`${where} takes a port, a number up to 65535, not ${port}`);
}

/** The local ports in a list flag, one in each value. */
export function localPortsFrom(values: readonly string[], name: string): number[] {
  return values.map((text) => {
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port >= 1 && port <= 65_535) return port;
    throw invalid(`invalid --${name}: ${JSON.stringify(text)} is not a TCP port`, {
      hint: `use a number from 1 to 65535, and repeat --${name} for each port`,
    });
  });
}
