import { operation } from '../operation.ts';
import { UiAddress, UiSignIn } from '../schemas/ui.ts';

export const uiOperations = {
  openUi: operation({
    method: 'POST',
    path: '/hive/ui',
    socketOnly: true,
    tag: 'system',
    access: 'write',
    command: 'none',
    summary: 'Open the web UI to the browsers of this machine',
    description:
      'A daemon without a TCP listener opens a listener on the loopback address. The listener accepts only browsers that have signed in with the code in the address.',
    success: { status: 200, description: 'The web UI address.', body: UiAddress },
    failures: ['unavailable'],
  }),
  createUiSession: operation({
    method: 'POST',
    path: '/ui/session',
    tag: 'system',
    access: 'write',
    command: 'none',
    summary: 'Sign a browser in to the web UI',
    description:
      'Exchanges a code from `thv ui` for a cookie. The cookie authenticates requests of pages of the same origin. The cookie expires after 12 hours without use, or when the daemon stops.',
    body: UiSignIn,
    success: { status: 204, description: 'The header `Set-Cookie` contains the cookie.' },
    failures: ['unauthorized', 'forbidden'],
  }),
};
