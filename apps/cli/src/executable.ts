import { createRequire } from 'node:module';
import { keyringHelper, keyringHelperWord } from '@toolhive/core/keyring-helper';
import { main } from './main.ts';

// Where the single executable starts. Its bundle is no ES module, so nothing can be awaited here; whatever is
// thrown ends the process, as it would anywhere.
const words = process.argv.slice(2);
void (words[0] === keyringHelperWord ? keyringHelper(createRequire(process.execPath)) : main(words));
