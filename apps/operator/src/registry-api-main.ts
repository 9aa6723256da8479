import manifest from '../package.json' with { type: 'json' };
import { main } from './registry-api.ts';

await main(process.argv.slice(2), manifest.version);
