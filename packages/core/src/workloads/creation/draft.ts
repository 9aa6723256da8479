import { withForwardedHeaders } from '@toolhive/contract/header-forward';
import { notFound } from '@toolhive/contract/failure';
import { BuiltInServerName, defaultGroup, defaultRegistry } from '@toolhive/contract/names';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Risk } from '@toolhive/contract/risk';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { requireOwnHost } from '../../permissions/enforcement.ts';
import type { ImageVerification } from '@toolhive/contract/provenance';
import type { Settings } from '@toolhive/state/settings-file';
import { defaultProfile } from './default-profile.ts';
import { readPodTemplate } from './pod-template.ts';
import { withTelemetrySettings } from './telemetry.ts';

/** The two ways to ask for a workload: a request, or the run config that an export returned. */
export type WorkloadRequest = CreateWorkload | RunConfig;

/** A workload to create, the same for both kinds of request, before its source is resolved. */
export interface Draft {
  name: string | undefined;
  group: string;
  host: string;
  /** The requested proxy port. Undefined or 0 for any port. */
  port: number | undefined;
  /** Whether ToolHive chose the port of a run config, so that another one is as good. */
  hasAutomaticPort: boolean;
  /** A registry entry, an image, or a package. */
  image: string | undefined;
  /** The user's values for the variables in the URL of a registry entry. */
  urlVariables: Readonly<Record<string, string>>;
  /** The URL of a remote server. */
  remoteUrl: string | undefined;
  /** A server that is a part of the daemon. */
  builtIn: BuiltInServerName | undefined;
  /** The group of the registry that contains the entry. */
  registryGroup: string | undefined;
  /** A certificate authority to trust during the installation. */
  caCertificate: string | undefined;
  /** What is done about an image whose signature is missing or wrong. */
  imageVerification: ImageVerification;
  /** The dangerous access that the user has accepted. */
  acceptedRisks: readonly Risk[];
  /** All other settings. A registry entry supplies missing values of a request. A run config is complete. */
  settings: RequestSettings | { kind: 'complete'; settings: RunConfigSettings };
}

/** The settings of a request, as far as it contains them. */
export interface RequestSettings {
  kind: 'request';
  request: CreateWorkload;
  /** The profile of a local server without a registry entry. Throws `invalid` if the request must name one. */
  defaultProfile: () => PermissionProfile;
}

/** A run config without the parts that belong to one workload only. An exported one still contains them. */
export type RunConfigSettings = {
  [Key in keyof RunConfig as Key extends keyof RunConfigIdentity ? never : Key]: RunConfig[Key];
};

/** The parts of a run config that belong to one workload only. */
export type RunConfigIdentity = Pick<
  RunConfig,
  'schema_version' | 'name' | 'base_name' | 'container_name' | 'host' | 'port' | 'automatic_port'
>;

/** Throws `not-implemented` if the request asks for something that ToolHive does not enforce yet. */
export function draftOf(request: WorkloadRequest, settings: Settings): Draft {
  const common = {
    name: request.name,
    group: request.group ?? defaultGroup,
    host: request.host || '127.0.0.1',
    image: request.image || undefined,
    acceptedRisks: request.accepted_risks ?? [],
  };
  if (request.schema_version !== undefined) {
    return {
      ...common,
      port: request.port,
      hasAutomaticPort: request.automatic_port === true,
      urlVariables: {},
      remoteUrl: request.remote_url || undefined,
      builtIn: request.built_in,
      registryGroup: undefined,
      caCertificate: undefined,
      imageVerification: request.image_verification ?? 'warn',
      settings: { kind: 'complete', settings: withForwardedHeaders(request) },
    };
  }
  requireOwnHost(request);
  requireRegistry(request);
  if (request.k8s_pod_template_patch) readPodTemplate(request.k8s_pod_template_patch);
  return {
    ...common,
    port: request.proxy_port,
    hasAutomaticPort: false,
    urlVariables: request.url_variables ?? {},
    remoteUrl: request.url || undefined,
    image: common.image ?? (request.server || undefined),
    builtIn: BuiltInServerName.safeParse(request.image).data,
    registryGroup: request.registry_group,
    caCertificate: request.ca_certificate || undefined,
    imageVerification: request.image_verification ?? 'warn',
    settings: {
      kind: 'request',
      request: withTelemetrySettings(request, settings),
      defaultProfile: () => defaultProfile(request, settings),
    },
  };
}

/** Another registry could mean another server by the same name. */
function requireRegistry({ registry = '' }: CreateWorkload): void {
  if (registry === '' || registry === defaultRegistry) return;
  const message = `registry ${registry} not found`;
  const hint = `omit the registry, or use ${defaultRegistry}`;
  throw notFound(message, { hint, problems: [{ pointer: '/registry', detail: message }] });
}
