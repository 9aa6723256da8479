// The entry point of the bundle, and of `bin/thv.js` where nothing was built.
export { main } from '@toolhive/cli/main';
