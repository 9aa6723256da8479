import { operation } from '../operation.ts';
import { UiAddress, UiSignIn } from '../schemas/ui.ts';

export const uiOperations = {
  openUi: operation({
    method: 'POST',
    path: '/hive/ui',
    socketOnly: true,
    tag: 'system',
    summary: 'Open the web UI to the browsers of this machine',
    description:
      'A daemon that has no TCP listener opens one on the loopback address. It accepts only browsers that have signed in with the code of the address.',
    success: { status: 200, description: 'The address of the web UI.', body: UiAddress },
    failures: ['unavailable'],
  }),
  createUiSession: operation({
    method: 'POST',
    path: '/ui/session',
    tag: 'system',
    summary: 'Sign a browser in to the web UI',
    description:
      'Exchanges a code from `thv ui` for a cookie. Requests of pages of the same origin are authenticated by the cookie until it has not been used for 12 hours, or the daemon ends.',
    body: UiSignIn,
    success: { status: 204, description: 'The header `Set-Cookie` contains the cookie.' },
    failures: ['unauthorized', 'forbidden'],
  }),
};
