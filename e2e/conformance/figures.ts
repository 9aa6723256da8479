// What the official suite says of the proxy, as the tables of the documentation: `npm run conformance`.
import { messageOf } from '@toolhive/contract/failure';
import { buildCli } from '../../scripts/build.ts';
import { passes, revisions, runClientSuite, runSuite } from './suite.ts';
import type { Revision, Scenario } from './suite.ts';
import { generationOf, generations, openEndpoints, transports } from './targets.ts';

await buildCli();
await using endpoints = await openEndpoints();

process.stdout.write(
  '| Suite | Server | Directly | Behind the proxy, stdio | Behind the proxy, HTTP |\n' +
    '| --- | --- | --- | --- | --- |\n',
);
for (const revision of revisions) {
  for (const generation of generations) {
    const direct =
      generation === generationOf[revision]
        ? await figuresAt(revision, () => endpoints.direct(generation))
        : '–';
    const proxied = await Promise.all(
      transports.map((transport) => figuresAt(revision, () => endpoints.proxied({ generation, transport }))),
    );
    process.stdout.write(`| ${[revision, generation, direct, ...proxied].join(' | ')} |\n`);
  }
}

process.stdout.write(
  '\n| Suite | Behind a proxy that requires tokens | Client of a remote server | Its authorization |\n' +
    '| --- | --- | --- | --- |\n',
);
for (const revision of revisions) {
  const protectedServer = await figuresAt(revision, () => endpoints.withTokens(generationOf[revision]));
  const { program, env } = endpoints.remoteClient;
  const client = await runClientSuite(revision, program, env);
  const authorization = client.filter(({ name }) => name.startsWith('auth/'));
  process.stdout.write(
    `| ${[revision, protectedServer, figures(client), figures(authorization)].join(' | ')} |\n`,
  );
}

/** How much of what the revision requires is passed. */
async function figuresAt(revision: Revision, open: () => string | Promise<string>): Promise<string> {
  let url: string;
  try {
    url = await open();
  } catch (error) {
    return `does not start: ${messageOf(error)}`;
  }
  return figures(await runSuite(revision, url));
}

function figures(scenarios: readonly Scenario[]): string {
  const scored = scenarios.filter(({ isScored }) => isScored);
  const checks = scored.flatMap(verdicts);
  const good = checks.filter((status) => status === 'SUCCESS');
  return (
    `${scored.filter(passes).length} of ${scored.length} scenarios, ` +
    `${good.length} of ${checks.length} checks`
  );
}

/** What the checks of a scenario found, without those that only report or had nothing to look at. */
function verdicts({ checks }: Scenario) {
  return checks
    .map(({ status }) => status)
    .filter((status) => status === 'SUCCESS' || status === 'FAILURE' || status === 'WARNING');
}
