import type { ReactNode } from 'react';
import type { Finding } from '@toolhive/contract/diagnosis';
import { withoutCommands } from '../../ui/format.ts';
import { FixButtons, fixSentence } from '../../ui/fixes.tsx';
import { FindingState, findingRank } from '../../ui/findings.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText } from '../../ui/text.tsx';

interface Row {
  key: string;
  finding: Finding;
}

/** The layers in the words of people. */
const names: Readonly<Record<string, string>> = {
  hive: 'daemon',
  process: 'server',
  clients: 'client',
  sandbox: 'isolation',
};

const columns: readonly Column<Row>[] = [
  {
    id: 'check',
    head: 'Check',
    width: 7,
    grow: 1,
    order: ({ finding: { layer } }) => layer,
    cell: ({ finding: { layer } }) => <ForeignText>{names[layer] ?? layer}</ForeignText>,
  },
  {
    id: 'state',
    head: 'State',
    width: 6,
    order: ({ finding: { state } }) => findingRank(state),
    cell: ({ finding: { state } }) => <FindingState state={state} />,
  },
  {
    id: 'says',
    head: 'Finding',
    width: 9,
    grow: 6,
    cell: ({ finding: { says } }) => <ForeignText>{withoutCommands(says)}</ForeignText>,
  },
  {
    id: 'fix',
    head: 'Fix',
    width: 5,
    grow: 2,
    rank: 1,
    cell: ({ finding: { hint } }) => {
      const sentence = fixSentence({ hint });
      return sentence !== undefined && <ForeignText>{sentence}</ForeignText>;
    },
  },
  {
    id: 'actions',
    head: 'Actions',
    kind: 'actions',
    width: 10,
    cell: ({ finding: { hint, fixes } }) => <FixButtons hint={hint} fixes={fixes} />,
  },
];

/** The findings of many workloads and clients, the failed ones first. */
export function FindingsTable({ findings }: { findings: readonly Finding[] }): ReactNode {
  return (
    <Table
      label="Findings"
      columns={columns}
      rows={findings.map((finding, index) => ({ key: String(index), finding }))}
      keyOf={({ key }) => key}
      firstSort={{ id: 'state', isDescending: false }}
    />
  );
}
