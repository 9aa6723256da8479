import { messageOf } from '@toolhive/contract/failure';

const distrusted =
  'the certificate authority is not trusted; if it belongs to your organization, restart the daemon with NODE_EXTRA_CA_CERTS=FILE';

/** Failures that Node.js names by a code, and the fix that users have. */
const reasons: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it, or correct the clock of this machine',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; correct the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host; check the URL',
  DEPTH_ZERO_SELF_SIGNED_CERT: distrusted,
  SELF_SIGNED_CERT_IN_CHAIN: distrusted,
  UNABLE_TO_GET_ISSUER_CERT: distrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: distrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: distrusted,
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not use TLS; check whether the URL begins with http',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not use TLS; check whether the URL begins with http',
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
    'it accepts only HTTP/2, which ToolHive does not use for servers; use a URL that also accepts HTTP/1.1',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its response are larger than 16 KiB',
  ENOTFOUND: 'its name cannot be resolved; check the URL and the network',
  EAI_AGAIN: 'its name cannot be resolved at the moment; check the network',
  ENETUNREACH: 'there is no route to it; check the network',
  EHOSTUNREACH: 'there is no route to it; check the network',
};

/** Why a server could not be reached, and the fix if one is known. */
export function connectionFailure(error: unknown): string {
  const { code = '' } = Object(error) as NodeJS.ErrnoException;
  const reason = Object.hasOwn(reasons, code) ? reasons[code] : undefined;
  return reason ?? messageOf(error);
}
