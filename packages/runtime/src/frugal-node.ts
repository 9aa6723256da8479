/** The Node.js options for small programs: one thread, and a small heap. */
export const frugalNode = ['--v8-pool-size=0', '--max-old-space-size=32'];
