import { ThvError, notFound, unavailable } from '@toolhive/contract/failure';
import type { Client } from '@toolhive/contract/client';
import type { Diagnosis, Finding } from '@toolhive/contract/diagnosis';
import type { CommandCall } from '../../command.ts';
import { printable } from '@toolhive/contract/printable';
import type { Page } from '../../out.ts';
import type { Colour } from '../../standard-streams.ts';

/** Reports the findings about a workload, a client, or the machine. Fails if something is wrong. */
export async function run({ arguments: [name], out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  out.progress(`looking at ${name ?? 'this machine'}`);
  const diagnosis = await (name === undefined
    ? daemon.diagnoseMachine({}, { signal })
    : diagnose(daemon, name, signal));
  out.result(diagnosis, (page) => {
    const widest = Math.max(...diagnosis.findings.map(({ layer }) => layer.length));
    for (const finding of diagnosis.findings) describe(page, finding, widest + 2);
  });
  if (!diagnosis.healthy) {
    const layers = diagnosis.findings.filter(({ state }) => state === 'failed').map(({ layer }) => layer);
    throw unavailable(`problems found: ${[...new Set(layers)].join(', ')}`);
  }
}

/** Names of workloads come first: those of applications are few, and known. */
async function diagnose(daemon: Client, name: string, signal: AbortSignal): Promise<Diagnosis> {
  try {
    return await daemon.diagnoseWorkload({ params: { name } }, { signal });
  } catch (error) {
    if (!(error instanceof ThvError) || !/^(not-found|invalid)$/.test(error.kind)) throw error;
    const { clients } = await daemon.discoverClients({}, { signal });
    const application = clients.find(({ client_type: type }) => type === name);
    if (application === undefined) {
      throw notFound(`workload or client ${printable(name)} not found`, {
        hint: 'run thv list --all to see all workloads, or thv client status to see all clients',
      });
    }
    return daemon.diagnoseClient({ params: { name: application.client_type } }, { signal });
  }
}

/** A word beside the symbol, because some users see no colors, and screen readers read neither. */
const marks: Record<Finding['state'], { mark: string; colour: Colour }> = {
  ok: { mark: 'ok', colour: 'green' },
  warning: { mark: 'warning', colour: 'yellow' },
  failed: { mark: 'failed', colour: 'red' },
  skipped: { mark: 'skipped', colour: 'dim' },
};

const markWidth = 'warning'.length + 2;

function describe(page: Page, { layer, state, says, hint }: Finding, layerWidth: number): void {
  const { mark, colour } = marks[state];
  const [first = '', ...more] = printable(says).split('\n');
  const indent = ' '.repeat(layerWidth + markWidth);
  page.line(
    `${layer.padEnd(layerWidth)}${page.paint(colour, mark)}${' '.repeat(markWidth - mark.length)}${first}`,
  );
  for (const line of more) page.line(`${indent}${line}`);
  if (hint !== undefined && state !== 'ok') page.line(`${indent}-> ${printable(hint)}`);
}
