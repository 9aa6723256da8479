import { readFile } from 'node:fs/promises';
import { invalid, messageOf } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { ApprovedItems, defaultToolPinning } from '@toolhive/contract/tool-pins';
import type { ApprovedItem } from '@toolhive/contract/tool-pins';
import { FixedPins } from '@toolhive/access/fixed-pins';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import { loadConfig } from '@toolhive/kubernetes/config';
import type { Logger } from 'pino';
import { ListedToolsReport } from './listed-tools.ts';

export interface SharedPinsOptions {
  /** The file with the pins. */
  file: string;
  /** The ConfigMap and its key for the server's lists, as NAME/KEY. By default, they are not reported. */
  report: string | undefined;
  env: NodeJS.ProcessEnv;
  log: Logger;
}

/** The pins of the custom resource, and the report about what its server lists. */
export interface SharedPins extends AsyncDisposable {
  pins: FixedPins;
}

/** Opens the shared pins. Throws `invalid` for a file that is not a list of pins. */
export async function openSharedPins(
  { name, tool_pinning: mode = defaultToolPinning }: RunConfig,
  { file, report, env, log }: SharedPinsOptions,
): Promise<SharedPins | undefined> {
  if (mode === 'off') return undefined;
  await using opened = new AsyncDisposableStack();
  const approved = await readPins(file);
  let onListed: ConstructorParameters<typeof FixedPins>[0]['onListed'] = () => {};
  if (report !== undefined) {
    const [, configMap = '', key = ''] = /^([^/]+)\/([^/]+)$/.exec(report) ?? [];
    if (configMap === '') throw invalid(`--listed-tools is not CONFIGMAP/KEY: ${report}`);
    const config = await loadConfig(env);
    const client = opened.use(new KubernetesClient(config));
    const namespace = env['POD_NAMESPACE'] || config.namespace;
    const place = { client, configMap: { name: configMap, namespace }, key };
    onListed = opened.use(new ListedToolsReport(place, log)).add;
  }
  const fix = `ask the user to review it with thv cluster pins ${name}`;
  const kept = opened.move();
  return {
    pins: new FixedPins({ mode, approved, fix, onListed }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function readPins(file: string): Promise<ApprovedItem[]> {
  try {
    return ApprovedItems.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (cause) {
    throw invalid(`cannot read the pins in ${file}: ${messageOf(cause)}`, { cause });
  }
}
