import { invalid } from '@toolhive/contract/failure';
import { publishedPortOf } from '@toolhive/contract/names';
import { refusalOf, risks } from '@toolhive/contract/risk';
import type { Risk } from '@toolhive/contract/risk';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Mount, PinnedMount } from '@toolhive/runtime/mount-source';
import { dangersOfMount } from './mount-warnings.ts';
import type { Danger } from './mount-warnings.ts';
import { grantedNetworkOf } from './network.ts';
import type { NetworkGrant } from './network.ts';
import { givenToServer, sentByProxy } from './sent-secrets.ts';

/** The user's agreement. */
export interface Consent {
  accepted: readonly Risk[];
  /** The dangerous access that the workload has already, and keeps. */
  present: readonly Danger[];
  /** Whether the client cannot ask the user, so that access without consent is left out instead of refused. */
  narrows?: boolean;
}

/** Throws `invalid` if a run config grants dangerous access that the user has not accepted. */
export function requireConsent(runConfig: RunConfig, mounts: readonly PinnedMount[], consent: Consent): void {
  const dangers = unacceptedIn(dangersOf(runConfig, mounts), consent);
  if (dangers.length === 0) return;
  const required = [...new Set(dangers.map(({ risk }) => risk))];
  const texts = [...new Set(dangers.map(({ text }) => text))];
  throw invalid(`${refusalOf(required)}: ${texts.join('; ')}`, {
    hint: `to accept that, add --accept-risks to thv run, or ${JSON.stringify({ accepted_risks: required })} to the request`,
  });
}

/** The dangers that the user has neither accepted nor granted before. */
export function unacceptedIn(dangers: readonly Danger[], { accepted, present }: Consent): Danger[] {
  return dangers.filter(
    ({ risk, text }) => !accepted.includes(risk) && !present.some((danger) => danger.text === text),
  );
}

/** The dangerous access that a run config grants. A link is as dangerous as its target. */
export function dangersOf(runConfig: RunConfig, mounts: readonly (Mount | PinnedMount)[]): Danger[] {
  const { privileged, network } = runConfig.permission_profile ?? {};
  return [
    ...mounts.flatMap(mountDangersOf),
    ...(privileged === true ? [dangerOf('privileged')] : []),
    ...(hostNetwork.test(network?.mode ?? '') ? [dangerOf('host-network')] : []),
    ...dangersOfNetwork(grantedNetworkOf(runConfig)),
    ...(runConfig.local_ports ?? []).map(dangerOfLocalPort),
    ...(runConfig.publish ?? []).map(dangerOfPublishedPort),
    ...(runConfig.allowed_origins ?? []).map(dangerOfOrigin),
    ...secretDangersOf(runConfig),
  ];
}

/** A user who names a secret in a request has agreed to that. Run configs are files that others may have written. */
function secretDangersOf(runConfig: RunConfig): Danger[] {
  const texts = [...sentByProxy(runConfig), ...givenToServer(runConfig)];
  return texts.map((text) => ({ risk: 'send-secrets', text }));
}

/** Podman also takes the path of a network namespace of this machine. */
const hostNetwork = /^(?:host$|ns:)/i;

const dangerOf = (risk: Risk): Danger => ({ risk, text: `it gets ${risks[risk]}` });

function dangersOfNetwork(grant: NetworkGrant): Danger[] {
  if (grant.kind !== 'open') return [];
  if (grant.privateAddresses === 'all') return [dangerOf('open-network')];
  const listed = grant.privateAddresses.map((address) => `, and ${address}`).join('');
  return [{ risk: 'open-network', text: `the server reaches every public host on every port${listed}` }];
}

/** Each port is another service, so consent to one is none to another. */
function dangerOfLocalPort(port: number): Danger {
  return {
    risk: 'local-ports',
    text: `the server reaches the program that listens on port ${port} of this machine`,
  };
}

/** A browser sends the cookies of a host to all of its ports, and a local program trusts what answers at a port. */
function dangerOfPublishedPort(text: string): Danger {
  const { port } = publishedPortOf(text);
  return {
    risk: 'publish-ports',
    text: `the server itself answers local programs and browsers on port ${port}`,
  };
}

const dangerOfOrigin = (origin: string): Danger => ({
  risk: 'allow-origins',
  text: `web pages from ${origin} can use the server from a local browser`,
});

/** The dangerous access of a mount. */
export function mountDangersOf(mount: Mount | PinnedMount): Danger[] {
  const how = mount.readOnly ? '' : ', and change it';
  return dangersOfMount(mount).map((danger) => ({ ...danger, text: `${danger.text}${how}` }));
}
