import { failureKinds } from '@toolhive/contract/failure';
import { failureStatus, internalFailure } from '@toolhive/contract/wire';
import { exitCodeOf } from '@toolhive/cli/report';
import { code, table, textOf } from './markdown.ts';

/** Returns the table of all error kinds with their HTTP status and exit code, to be included in a page. */
export function errorReference(): string {
  const rows = failureKinds
    .map((kind) => ({ kind, ...failureStatus[kind] }))
    .toSorted((a, b) => a.status - b.status)
    .map(({ kind, status, meaning }) => [
      code(String(status)),
      code(kind),
      code(String(exitCodeOf(kind))),
      textOf(meaning),
    ]);
  const internal = [
    code(String(internalFailure.status)),
    code('internal'),
    code('1'),
    textOf(internalMeaning),
  ];
  return `${table('Errors', ['Status', 'Kind', 'Exit code', 'Meaning'], [...rows, internal])}\n`;
}

const internalMeaning = 'ToolHive has a bug. The daemon log contains the details.';
