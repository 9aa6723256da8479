import { createRequire } from 'node:module';
import { keyringHelper, keyringHelperWord } from '@toolhive/secrets/keyring-helper';
import { gatewayWord } from '@toolhive/runtime/gateway-command';
import { serveGateways } from '@toolhive/runtime/gateway-program';
import { raiseFault } from '@toolhive/contract/fault';
import { main } from '@toolhive/cli/main';

// The entry point of the single executable. Its bundle is not an ES module, so it cannot use top-level await. An
// exception ends the process, as anywhere else.
const words = process.argv.slice(2);
const [first] = words;
if (first === gatewayWord) serveGateways();
else if (first === keyringHelperWord) keyringHelper(createRequire(process.execPath)).catch(raiseFault);
else main(words).catch(raiseFault);
