import { resourceRules } from '@toolhive/contract/resources';
import { code, table, textOf } from './markdown.ts';

/** Returns the table with the resource limits, to be included in a page. */
export function limitReference(): string {
  const rows = Object.values(resourceRules).map(({ flag, unit, summary, default: usual, min, max }) => [
    code(`--${flag}`),
    textOf(summary.charAt(0).toUpperCase() + summary.slice(1)),
    ...[usual, min, max].map((value) => amount(value, unit)),
  ]);
  return `${table('Resource limits', ['Flag', 'Limits', 'Default', 'Minimum', 'Maximum'], rows)}\n`;
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A number with its unit, such as 2 GiB. */
function amount(value: number, unit: 'bytes' | 'cores' | 'count'): string {
  if (unit !== 'bytes') return value.toLocaleString('en-US');
  const power = Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${value / 1024 ** power} ${units[power]}`;
}
