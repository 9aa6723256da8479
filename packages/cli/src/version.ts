import manifest from 'toolhive/package.json' with { type: 'json' };

/** The version of this program, which is that of the published package. */
export const version = `v${manifest.version}`;
