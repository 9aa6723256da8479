import { createRequire } from 'node:module';
import { keyringHelper, keyringHelperWord } from '@toolhive/core/keyring-helper';
import { main } from './main.ts';

// The entry point of the single executable. Its bundle is not an ES module, so it cannot use top-level await. An
// exception ends the process, as anywhere else.
const words = process.argv.slice(2);
void (words[0] === keyringHelperWord ? keyringHelper(createRequire(process.execPath)) : main(words));
