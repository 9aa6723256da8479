/** A screen, by what follows the address of the workload, and its name. */
type View = readonly [path: string, label: string];

/** The tabs of a workload, each with its views, of which it opens the first. */
export const tabs: readonly { label: string; views: readonly [View, ...View[]] }[] = [
  {
    label: 'Now',
    views: [
      ['', 'State'],
      ['/traffic', 'Traffic'],
      ['/logs', 'Logs'],
    ],
  },
  {
    label: 'Access',
    views: [
      ['/access', 'Permissions'],
      ['/network', 'Network'],
      ['/tools', 'Tools'],
    ],
  },
  { label: 'Configuration', views: [['/configuration', 'Configuration']] },
];
