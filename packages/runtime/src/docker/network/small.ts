/** The settings of containers that run only programs of ours. */
export const small = {
  CapDrop: ['ALL'],
  ReadonlyRootfs: true,
  // Our programs have one thread, but the engine starts them with a program in Go, which may need more for a moment.
  PidsLimit: 32,
  Memory: 16 * 1024 ** 2,
  Ulimits: ['nofile', 'nproc'].map((Name) => ({ Name, Soft: 1024, Hard: 1024 })),
  LogConfig: { Type: 'none', Config: {} },
};
