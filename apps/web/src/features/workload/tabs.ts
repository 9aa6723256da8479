/** A screen: the end of its address, and its name. */
type View = readonly [path: string, label: string];

/** The tabs of a workload. Each one opens its first view. */
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
