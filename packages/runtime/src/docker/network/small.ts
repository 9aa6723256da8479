/** The settings of containers that run only programs of ours. */
export const small = {
  CapDrop: ['ALL'],
  ReadonlyRootfs: true,
  PidsLimit: 4,
  Memory: 16 * 1024 ** 2,
  Ulimits: ['nofile', 'nproc'].map((Name) => ({ Name, Soft: 1024, Hard: 1024 })),
  LogConfig: { Type: 'none', Config: {} },
};
