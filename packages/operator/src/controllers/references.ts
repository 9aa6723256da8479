import { builtInProfiles } from '@toolhive/contract/permission-profile';
import { AuthzConfig } from '@toolhive/contract/authorization';
import { PermissionProfile } from '@toolhive/contract/permission-profile';
import { ApprovedItems } from '@toolhive/contract/tool-pins';
import type { ApprovedItem } from '@toolhive/contract/tool-pins';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isNotFound } from '@toolhive/kubernetes/status';
import { valueOfYaml } from '@toolhive/pasted/yaml-keys';
import * as z from 'zod';
import { laterFieldProblems } from '../crds/later-fields.ts';
import { mcpExternalAuthConfig } from '../crds/mcp-external-auth-config.ts';
import { mcpToolConfig } from '../crds/mcp-tool-config.ts';
import { canonicalJson, hashOf } from '../runtime/canonical.ts';
import { authorizationFile } from '../templates/objects.ts';
import { storageOf } from '../templates/session-storage.ts';
import type {
  ExternalAuthSpec,
  RemoteProxySpec,
  ServerSpec,
  ToolConfigSpec,
} from '../templates/run-config.ts';
import { besideOf, kinds } from './context.ts';
import type { CustomResource, Pass } from './context.ts';
import { versionOf } from './secret-reads.ts';

/** A reference that leads nowhere. A change of the referenced object, or time, can fix the reference. */
export class UnresolvedReference extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The content of everything that a spec refers to. */
export interface References {
  tools?: ToolConfigSpec;
  toolHash?: string;
  exchange?: ExternalAuthSpec['tokenExchange'];
  exchangeHash?: string;
  oidcData?: Record<string, string>;
  authorization?: string;
  profile: PermissionProfile;
  /** The pins of the spec and of its ConfigMap. Absent if nothing is compared. */
  toolPins?: readonly ApprovedItem[];
  /** The versions of all referenced Secrets, as one text. Empty without Secrets. */
  secretVersions: string;
  /** The versions of the credentials for the session storage, as one text. */
  storageVersions?: string;
}

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

/** Reads everything that a spec refers to. Throws `UnresolvedReference`. */
export async function resolveReferences(pass: Pass, spec: ServerSpec | RemoteProxySpec): Promise<References> {
  const read = reader(pass);
  const tools = read.custom(kinds.toolConfig, spec.toolConfigRef?.name);
  const exchange = read.custom(kinds.externalAuth, spec.externalAuthConfigRef?.name);
  const exchangeSpec = exchange === undefined ? undefined : exchangeOf(exchange);
  const secrets = [
    ...('secrets' in spec ? (spec.secrets ?? []) : []),
    ...(exchangeSpec === undefined ? [] : [exchangeSpec.clientSecretRef]),
  ];
  const versions = await Promise.all(secrets.map(({ name, key }) => read.secretVersion(name, key)));
  const oidcData =
    spec.oidcConfig?.type === 'configMap' && spec.oidcConfig.configMap !== undefined
      ? await read.configMap(spec.oidcConfig.configMap.name)
      : undefined;
  const authorization = await authorizationOf(spec, read);
  const storageVersions = await storageVersionsOf(spec, read);
  const toolPins = await toolPinsOf(spec, read);
  return {
    ...(toolPins === undefined ? {} : { toolPins }),
    ...(storageVersions === undefined ? {} : { storageVersions }),
    ...(tools === undefined
      ? {}
      : { tools: mcpToolConfig.spec.parse(tools.spec), toolHash: hashOf(tools.spec ?? {}) }),
    ...(exchangeSpec === undefined
      ? {}
      : { exchange: exchangeSpec, exchangeHash: hashOf(exchange?.spec ?? {}) }),
    ...(oidcData === undefined ? {} : { oidcData }),
    ...(authorization === undefined ? {} : { authorization }),
    profile: 'image' in spec ? await profileOf(spec, read) : {},
    secretVersions: [...new Set(versions)].toSorted().join(','),
  };
}

/** The token exchange in a configuration, whose definition may be a later one. Throws `UnresolvedReference`. */
function exchangeOf({ spec, metadata }: CustomResource): NonNullable<ExternalAuthSpec['tokenExchange']> {
  const problems = laterFieldProblems(mcpExternalAuthConfig.laterFields ?? [], spec);
  const parsed = mcpExternalAuthConfig.spec.safeParse(spec);
  if (!parsed.success) problems.push(z.prettifyError(parsed.error));
  const exchange = parsed.data?.tokenExchange;
  if (problems.length === 0 && exchange !== undefined) return exchange;
  throw new UnresolvedReference(
    'InvalidExternalAuthConfig',
    `MCPExternalAuthConfig ${metadata.name} ${problems.length === 0 ? 'has no tokenExchange' : `is invalid: ${problems.join('; ')}`}`,
  );
}

function reader({ context, resource, signal }: Pass) {
  const namespace = resource.metadata.namespace ?? '';
  return {
    custom(type: (typeof kinds)[keyof typeof kinds], name: string | undefined): CustomResource | undefined {
      if (name === undefined) return undefined;
      const found = context.cache(type).get<CustomResource>(besideOf(resource, name));
      if (found === undefined)
        throw new UnresolvedReference(`${type.kind}NotFound`, `${type.kind} ${name} not found`);
      return found;
    },
    async configMap(name: string): Promise<Record<string, string>> {
      try {
        const found = await context.client.get<ConfigMap>(types.configMap, { name, namespace }, { signal });
        return found.data ?? {};
      } catch (error) {
        if (isNotFound(error))
          throw new UnresolvedReference('ConfigMapNotFound', `ConfigMap ${name} not found`);
        throw error;
      }
    },
    /** Identifies the value of a key in a Secret. Other keys, labels, and annotations do not matter. */
    async secretVersion(name: string, key: string): Promise<string> {
      const value = (await context.secrets.read({ name, namespace }, signal))?.[key];
      if (value !== undefined) return `${name}.${versionOf(`${namespace}/${name}/${key}`, value)}`;
      const exists = (await context.secrets.read({ name, namespace }, signal)) !== undefined;
      throw exists
        ? new UnresolvedReference('SecretKeyNotFound', `Secret ${name} has no key ${key}`)
        : new UnresolvedReference('SecretNotFound', `Secret ${name} not found`);
    },
  };
}
type Reader = ReturnType<typeof reader>;

async function storageVersionsOf(
  spec: ServerSpec | RemoteProxySpec,
  read: Reader,
): Promise<string | undefined> {
  const { passwordRef, tls } = storageOf(spec) ?? {};
  const ca = tls?.caRef;
  const versions = [];
  if (passwordRef !== undefined) versions.push(await read.secretVersion(passwordRef.name, passwordRef.key));
  if (ca?.kind === 'Secret') versions.push(await read.secretVersion(ca.name, ca.key));
  if (ca?.kind === 'ConfigMap') {
    const text = (await read.configMap(ca.name))[ca.key];
    if (text === undefined)
      throw new UnresolvedReference('ConfigMapKeyNotFound', `ConfigMap ${ca.name} has no key ${ca.key}`);
    versions.push(`${ca.name}.${versionOf(ca.name, text)}`);
  }
  return versions.length === 0 ? undefined : versions.join();
}

async function authorizationOf(
  { authzConfig }: ServerSpec | RemoteProxySpec,
  read: Reader,
): Promise<string | undefined> {
  if (authzConfig === undefined) return undefined;
  if (authzConfig.type === 'inline') {
    if (authzConfig.inline === undefined)
      throw new UnresolvedReference(
        'InvalidAuthorization',
        'spec.authzConfig.inline is required for type inline',
      );
    return authorizationFile(authzConfig.inline.policies, authzConfig.inline.entitiesJson);
  }
  if (authzConfig.configMap === undefined)
    throw new UnresolvedReference(
      'InvalidAuthorization',
      'spec.authzConfig.configMap is required for type configMap',
    );
  const { name, key } = authzConfig.configMap;
  const parsed = AuthzConfig.safeParse(await parsedKey(read, name, key));
  if (!parsed.success || (parsed.data.cedar?.policies ?? []).length === 0) {
    throw new UnresolvedReference(
      'InvalidAuthorization',
      `key ${key} of ConfigMap ${name} has no valid policies`,
    );
  }
  return canonicalJson({ version: '1.0', type: 'cedarv1', ...parsed.data });
}

async function profileOf({ permissionProfile }: ServerSpec, read: Reader): Promise<PermissionProfile> {
  if (permissionProfile === undefined) return builtInProfiles.none;
  const { type, name, key } = permissionProfile;
  if (type === 'builtin') {
    const found = Object.entries(builtInProfiles).find(([builtIn]) => builtIn === name)?.[1];
    if (found !== undefined) return found;
    throw new UnresolvedReference(
      'PermissionProfileNotFound',
      `unknown built-in permission profile ${name}: expected ${Object.keys(builtInProfiles).join(', ')}`,
    );
  }
  if (key === undefined)
    throw new UnresolvedReference(
      'InvalidPermissionProfile',
      'spec.permissionProfile.key is required for type configmap',
    );
  const parsed = z.strictObject(PermissionProfile.shape).safeParse(await parsedKey(read, name, key));
  if (parsed.success) return parsed.data;
  throw new UnresolvedReference(
    'InvalidPermissionProfile',
    `key ${key} of ConfigMap ${name} is not a permission profile: ${z.prettifyError(parsed.error)}`,
  );
}

async function toolPinsOf(
  { toolPins }: ServerSpec | RemoteProxySpec,
  read: Reader,
): Promise<readonly ApprovedItem[] | undefined> {
  if (toolPins === undefined || toolPins.mode === 'off') return undefined;
  const { items = [], configMap } = toolPins;
  if (configMap === undefined) return items;
  const { name, key } = configMap;
  const parsed = ApprovedItems.safeParse(await parsedKey(read, name, key));
  if (parsed.success) return [...items, ...parsed.data];
  throw new UnresolvedReference(
    'InvalidToolPins',
    `key ${key} of ConfigMap ${name} is not a list of pins: ${z.prettifyError(parsed.error)}`,
  );
}

async function parsedKey(read: Reader, name: string, key: string): Promise<unknown> {
  const text = (await read.configMap(name))[key];
  if (text === undefined)
    throw new UnresolvedReference('ConfigMapKeyNotFound', `ConfigMap ${name} has no key ${key}`);
  try {
    return valueOfYaml(text, { maxAliasCount: 0 });
  } catch {
    throw new UnresolvedReference(
      'InvalidConfigMap',
      `key ${key} of ConfigMap ${name} is neither YAML nor JSON`,
    );
  }
}
