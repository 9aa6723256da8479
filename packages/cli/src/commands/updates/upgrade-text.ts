import type { DependencyChange, UpgradeChanges, WorkloadUpdate } from '@toolhive/contract/update';
import { oneLine } from '../../out.ts';
import { provenanceText } from '../provenance.ts';

/** What an upgrade changes, line by line. */
export function upgradeLines({
  name,
  package: runs,
  current = '',
  newest = '',
  published_at: at,
  young,
  changes,
}: WorkloadUpdate): string[] {
  const published = at === undefined ? '' : `, published ${at}`;
  return [
    `${oneLine(runs)}: ${oneLine(current)} -> ${oneLine(newest)}${published}`,
    ...(young
      ? [
          'WARNING: this version was published very recently. Malicious versions are often found within a day.',
        ]
      : []),
    ...(changes === undefined ? [] : changeLines(name, changes)),
    'Permissions and settings do not change.',
  ];
}

function changeLines(
  workload: string,
  { tools, hosts, dependencies, provenance, warnings }: UpgradeChanges,
): string[] {
  const { current, newest } = provenance;
  return [
    ...warnings.map(oneLine),
    ...(current === undefined ? [] : [`Provenance before: ${provenanceText(current)}`]),
    ...(newest === undefined ? [] : [`Provenance after: ${provenanceText(newest)}`]),
    ...(dependencies === undefined
      ? ['Dependencies: not known before the installation']
      : listed(workload, 'Dependencies', dependencies.map(dependencyText))),
    ...(tools === undefined
      ? ['Tools: compared with the approved ones when the new version first runs']
      : listed(workload, 'Tools in the registry entry', signed(tools))),
    ...(hosts === undefined
      ? []
      : listed(workload, 'Hosts in the registry entry, which are not granted', signed(hosts))),
  ];
}

const MOST_LISTED = 30;

function listed(workload: string, title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [`${title}: no changes`];
  const more = lines.length - MOST_LISTED;
  return [
    `${title}:`,
    ...lines.slice(0, MOST_LISTED).map((line) => `  ${oneLine(line)}`),
    ...(more > 0 ? [`and ${more} more; to see all: thv outdated ${workload} --changes --format json`] : []),
  ];
}

const signed = ({ added, removed }: { added: string[]; removed: string[] }): string[] => [
  ...added.map((name) => `+ ${name}`),
  ...removed.map((name) => `- ${name}`),
];

function dependencyText({ name, from, to }: DependencyChange): string {
  if (from === undefined) return `+ ${name} ${to}`;
  return to === undefined ? `- ${name} ${from}` : `  ${name} ${from} -> ${to}`;
}
