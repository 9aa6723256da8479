import { fixedHeaders } from './guards.ts';

/** The hosts that the user lets an app contact. */
export interface AppGrants {
  connect_hosts?: readonly string[] | undefined;
  resource_hosts?: readonly string[] | undefined;
}

/** The features of browsers that neither an app nor its frame has. */
const deniedFeatures = [
  'accelerometer',
  'autoplay',
  'bluetooth',
  'browsing-topics',
  'camera',
  'clipboard-read',
  'clipboard-write',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'gamepad',
  'geolocation',
  'gyroscope',
  'hid',
  'identity-credentials-get',
  'idle-detection',
  'keyboard-map',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'otp-credentials',
  'payment',
  'picture-in-picture',
  'publickey-credentials-create',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'web-share',
  'window-management',
  'xr-spatial-tracking',
]
  .map((feature) => `${feature}=()`)
  .join(', ');

/** The headers of pages in frames. Instead of `X-Frame-Options`, the policy of each page says who can embed the page. */
function frameHeaders(policy: readonly string[], connections: readonly string[]): Record<string, string> {
  const { 'x-frame-options': _none, ...fixed } = fixedHeaders;
  return {
    ...fixed,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    // Also covers WebRTC and name look-ups, which no Content-Security-Policy can.
    'connection-allowlist': `(${connections.map((url) => `"${url}"`).join(' ')})`,
    'permissions-policy': deniedFeatures,
    'cross-origin-resource-policy': 'same-origin',
    'origin-agent-cluster': '?1',
    'x-dns-prefetch-control': 'off',
  };
}

/** The paths of the origin for apps. The gate must reach the first probe, and a browser that applies the allowlist blocks the second. */
export const appPaths = {
  frame: '/frame/',
  page: '/page/',
  reachable: '/reachable',
  blocked: '/blocked',
} as const;

/** The sandbox of an app: scripts, and forms that scripts handle, because the policy allows no target for forms. */
const sandbox = 'allow-scripts allow-forms';

/** The headers of the gate: the document between the web UI and an app. */
export function gateHeaders(origin: string, ui: string, nonce: string): Record<string, string> {
  return frameHeaders(
    [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      `connect-src ${origin}${appPaths.reachable} ${origin}${appPaths.blocked}`,
      `frame-src ${origin}${appPaths.page}`,
      "base-uri 'none'",
      "form-action 'none'",
      `frame-ancestors ${ui}`,
      `sandbox ${sandbox} allow-same-origin`,
    ],
    [`${origin}${appPaths.page}*`, `${origin}${appPaths.reachable}`],
  );
}

/** The headers of the document that an app writes itself into. */
export function appHeaders(origin: string, ui: string, grants: AppGrants): Record<string, string> {
  const { connect_hosts: connections = [], resource_hosts: resources = [] } = grants;
  const from = (...sources: string[]): string => [...sources, ...resources].join(' ') || "'none'";
  return frameHeaders(
    [
      "default-src 'none'",
      `script-src ${from("'unsafe-inline'")}`,
      `style-src ${from("'unsafe-inline'")}`,
      `img-src ${from('data:')}`,
      `media-src ${from('data:')}`,
      `font-src ${from()}`,
      `connect-src ${connections.join(' ') || "'none'"}`,
      "frame-src 'none'",
      "worker-src 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      `frame-ancestors ${origin} ${ui}`,
      `sandbox ${sandbox}`,
    ],
    [...new Set([...connections, ...resources])].map((host) => `${host}/*`),
  );
}
