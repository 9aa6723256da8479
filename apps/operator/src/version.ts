import manifest from '../package.json' with { type: 'json' };

/** The version of the programs. */
export const version = `v${manifest.version}`;
