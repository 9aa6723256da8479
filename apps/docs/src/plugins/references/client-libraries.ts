import * as z from 'zod';
import { code, heading, table, textOf } from './markdown.ts';

/** The part of `e2e/compatibility/results.json` that the page shows. `npm run compatibility` writes the file. */
const Results = z.array(
  z.object({
    name: z.string(),
    packages: z.record(z.string(), z.string()),
    date: z.string(),
    trials: z.array(z.string()),
    failures: z.array(z.string()),
  }),
);

/** The columns, with the trials of `e2e/compatibility/libraries.ts` that they show. */
const columns: Readonly<Record<string, readonly string[]>> = {
  'Tool calls': ['tools', 'text', 'error'],
  Progress: ['progress'],
  Elicitation: ['elicitation'],
  Sampling: ['sampling'],
};

/** Returns the section about the client libraries that were run, to be included in a page. */
export function clientLibraryReference(results: unknown): string {
  const rows = Results.parse(results).map(({ name, packages, date, trials, failures }) => {
    const [main] = Object.entries(packages);
    const verdict = failures.length === 0 ? 'Passed' : 'Failed';
    return [
      textOf(name),
      main === undefined ? '' : code(main.join(' ')),
      ...Object.values(columns).map((needed) =>
        needed.every((trial) => trials.includes(trial)) ? verdict : 'Not tested',
      ),
      date,
    ];
  });
  return [
    heading(2, 'Tested client libraries', 'tested-client-libraries'),
    'Each library ran against two servers behind the proxy: a server with sessions (protocol version 2025-11-25) and a stateless ' +
      'server (2026-07-28). *Tool calls* includes listing the tools, calling a tool, and receiving an error from a tool. ' +
      '*Failed* means that at least one test of the library failed with at least one of the servers. *Not tested* means that ' +
      'the test program of the library does not use the feature.',
    table(
      'Tested client libraries',
      ['Library', 'Package and version', ...Object.keys(columns), 'Date'],
      rows,
    ),
  ]
    .join('\n\n')
    .concat('\n');
}
