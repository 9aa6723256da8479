/** The most that a server may store in its persistent home directory. */
export const homeLimitBytes = 2 * 1024 ** 3;
