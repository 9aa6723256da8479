import type { ReactNode } from 'react';
import type { Advice, Fix } from '@toolhive/contract/fix';
import { Link } from 'wouter';
import { Action } from './action.tsx';
import { restartWorkloads, startWorkloads } from './actions.ts';
import { CopyButton } from './copy.tsx';
import { commandIn, inScreenWords } from './format.ts';
import { ForeignText } from './text.tsx';

/** The operations that a click performs. Every other one is on the screen that a link opens. */
const performed: Readonly<Record<string, (name: string) => Promise<void>>> = {
  startWorkload: (name) => startWorkloads([name]),
  restartWorkload: (name) => restartWorkloads([name]),
};

const workload =
  (tab = '') =>
  (name: string): string =>
    `/w/${encodeURIComponent(name)}${tab}`;

/** The screens of operations, some by the name of the workload. */
const screens: Readonly<Record<string, (name: string) => string>> = {
  getWorkloadLogs: workload('/logs'),
  getProxyLogs: workload('/logs'),
  diagnoseWorkload: workload(),
  deleteWorkload: workload(),
  editWorkload: workload('/configuration'),
  listNetworkDecisions: workload('/network'),
  changePermissions: workload('/access'),
  startLearning: workload('/network'),
  stopLearning: workload('/network'),
  getToolPins: workload('/tools'),
  diagnoseClient: () => '/clients',
  createClient: () => '/clients',
  registerClients: () => '/clients',
  planAdoption: () => '/clients',
  createWorkload: () => '/add',
  listWorkloads: () => '/',
  listGroups: () => '/groups',
  setupSecrets: () => '/secrets',
  listSecrets: () => '/secrets',
  listRegistries: () => '/registries',
};

/** A command for a terminal, which this page does not show. */
const isCommand = (hint: string): boolean => /\bthv\b/.test(hint);

/** What fixes a problem: buttons, or a sentence if no operation does. */
export function Fixes({ hint, fixes }: Partial<Advice>): ReactNode {
  if (hint === undefined) return undefined;
  const sentence = fixSentence({ hint });
  return (
    <div className="fix">
      {sentence !== undefined && (
        <p>
          Fix: <ForeignText>{sentence}</ForeignText>
        </p>
      )}
      <FixButtons hint={hint} fixes={fixes} />
    </div>
  );
}

/** The buttons that fix a problem. */
export function FixButtons({ hint, fixes = [] }: Partial<Advice>): ReactNode {
  if (hint === undefined) return undefined;
  return (
    <>
      {fixes.map((fix) => (
        <FixButton key={fix.label} fix={fix} />
      ))}
      {fixes.length === 0 && isCommand(hint) && (
        <CopyButton text={commandIn(hint)} label="Copy as thv" what={commandIn(hint)} />
      )}
    </>
  );
}

/** The sentence about the fix of a problem. Undefined if the fix is a command. */
export function fixSentence({ hint }: Partial<Advice>): string | undefined {
  return hint === undefined || isCommand(hint) ? undefined : inScreenWords(hint);
}

function FixButton({ fix: { label, operation, parameters } }: { fix: Fix }): ReactNode {
  const name = parameters?.['name'] ?? '';
  const act = performed[operation];
  const screen = screens[operation];
  if (act !== undefined) return <Action onClick={() => act(name)}>{label}</Action>;
  if (screen === undefined) return undefined; // of a newer daemon
  return (
    <Link className="button" href={screen(name)}>
      {label}
    </Link>
  );
}
