import { operation } from '../operation.ts';
import { UiAddress, UiApp, UiAppRequest, UiSignIn } from '../schemas/ui.ts';

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
  createUiApp: operation({
    method: 'POST',
    path: '/ui/apps',
    tag: 'system',
    access: 'write',
    command: 'none',
    summary: 'Create a frame for an MCP App',
    description:
      'Returns the address of a frame in which the web UI shows a page of a server. The frame has a separate origin and a Content-Security-Policy without network access, except to the hosts in the request. Only the web UI at the address of this request can embed the frame. Available if the web UI is open at a loopback address.',
    body: UiAppRequest,
    success: { status: 201, description: 'The frame.', body: UiApp },
    failures: ['unavailable'],
  }),
};
