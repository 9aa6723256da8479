/** The screens of a workload, by what follows its address. */
export const tabs = [
  ['', 'Overview'],
  ['/tools', 'Tools'],
  ['/traffic', 'Traffic'],
  ['/network', 'Network'],
  ['/logs', 'Logs'],
  ['/edit', 'Edit'],
] as const;
