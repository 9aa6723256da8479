import type { RemoteProxySpec } from './run-config.ts';

/** The issuer and the audience of the tokens that a proxy accepts. */
interface AcceptedTokens {
  issuer: string;
  /** Absent for the URL of the proxy. */
  audience?: string | undefined;
}

/** Reads the accepted tokens from a spec. Undefined if only a ConfigMap contains them. */
export function acceptedTokens({
  type,
  kubernetes,
  inline,
}: NonNullable<RemoteProxySpec['oidcConfig']>): AcceptedTokens | undefined {
  if (type === 'kubernetes')
    return {
      issuer: kubernetes?.issuer ?? 'https://kubernetes.default.svc',
      audience: kubernetes?.audience ?? 'toolhive',
    };
  return type === 'inline' ? inline : undefined;
}
