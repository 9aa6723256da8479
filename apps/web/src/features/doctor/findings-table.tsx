import type { ReactNode } from 'react';
import type { Finding } from '@toolhive/contract/diagnosis';
import { withoutCommands } from '../../ui/format.ts';
import { Fixes } from '../../ui/fixes.tsx';
import { FindingState, findingRank } from '../../ui/findings.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText } from '../../ui/text.tsx';

interface Row {
  key: string;
  finding: Finding;
}

const columns: readonly Column<Row>[] = [
  {
    id: 'check',
    head: 'Check',
    width: 7,
    grow: 1,
    order: ({ finding: { layer } }) => layer,
    cell: ({ finding: { layer } }) => <ForeignText>{layer}</ForeignText>,
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
    grow: 4,
    cell: ({ finding: { says } }) => <ForeignText>{withoutCommands(says)}</ForeignText>,
  },
  {
    id: 'fix',
    head: 'Fix',
    width: 9,
    grow: 3,
    cell: ({ finding: { hint, fixes } }) => <Fixes hint={hint} fixes={fixes} />,
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
