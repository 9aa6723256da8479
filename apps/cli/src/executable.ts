import { createRequire } from 'node:module';
import { keyringHelper, keyringHelperWord } from '@toolhive/secrets/keyring-helper';
import { gatewayWord } from '@toolhive/runtime/gateway-command';
import { raiseFault } from '@toolhive/contract/fault';
import { main } from '@toolhive/cli/main';

// The entry point of the single executable. Its bundle is not an ES module, so it cannot use top-level await. An
// exception ends the process, as anywhere else.
const words = process.argv.slice(2);
const [first] = words;
if (first === gatewayWord) {
  // Imported only here: commands do not need it, and it takes a fifth of their time to load.
  import('@toolhive/runtime/gateway-program').then(({ serveGateways }) => serveGateways()).catch(raiseFault);
} else if (first === keyringHelperWord) keyringHelper(createRequire(process.execPath)).catch(raiseFault);
else main(words).catch(raiseFault);
