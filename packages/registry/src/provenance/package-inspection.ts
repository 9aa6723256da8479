import { ThvError, conflict, forbidden } from '@toolhive/contract/failure';
import type { ImageVerification, Provenance } from '@toolhive/contract/provenance';
import type { InspectionCall, PackageContents } from '@toolhive/runtime/runtime';
import { isLocalPath } from '@toolhive/runtime/source';
import type { ImageSource, PackageScheme, PackageSource, ServerSource } from '@toolhive/runtime/source';
import type { ImagePolicy } from './image-signatures.ts';
import type { ProvenanceLookup } from './lookup.ts';
import { pinnedImage } from './oci-registry.ts';
import type { PinnedImage } from './oci-registry.ts';
import { isSameRepository } from './build-claims.ts';
import type { PackageRecord, PackageRecords } from './package-records.ts';
import type { ReadTrustedRoot } from './trusted-root.ts';

export interface PackageInspectionOptions {
  records: PackageRecords;
  readRoot: ReadTrustedRoot;
  /** Certificate authorities that the settings name, as PEM. */
  certificates: () => Promise<string | undefined>;
  /** Names the corporate proxy, if there is one. */
  env: NodeJS.ProcessEnv;
}

const PUBLIC_SIGSTORE = 'tuf-repo-cdn.sigstore.dev';

/** Loaded when needed: the libraries behind them take megabytes of an idle daemon's memory. */
const lookups: Partial<Record<PackageScheme, () => Promise<ProvenanceLookup>>> = {
  npx: async () => (await import('./npm-attestations.ts')).npmProvenance,
  uvx: async () => (await import('./pypi-attestations.ts')).pypiProvenance,
};

/** Decides whether a package's content may be installed, and records the facts about it. */
export class PackageInspection implements Disposable {
  readonly #options: PackageInspectionOptions;

  constructor(options: PackageInspectionOptions) {
    this.#options = options;
  }

  /**
   * Throws `conflict` if a version's content differs from an earlier installation, and `forbidden` if an attestation
   * is wrong. An unreachable registry does not prevent the installation.
   */
  async inspect(source: PackageSource, contents: PackageContents, call: InspectionCall): Promise<void> {
    const { records } = this.#options;
    const { scheme, name } = source;
    const [own] = contents.artifacts;
    const change = this.#changeIn(source, contents);
    if (change !== undefined) {
      throw conflict(change, {
        hint: 'published versions do not change unless someone replaces them. Use another version',
      });
    }
    const known = records.find(scheme, name, own.version);
    // Each file of a version has its own attestation.
    const isKnown =
      known?.provenance !== undefined &&
      known.provenance.status !== 'unknown' &&
      known.integrity === own.integrity;
    const provenance = isKnown ? known.provenance : await this.lookUp(source, contents, call);
    if (provenance?.status === 'failed') throw refusal(source, own.version, provenance);
    // The user may spell the name of a Python project in another way, or name a package in a Go module.
    records.pin(scheme, [...contents.artifacts, { ...own, name }], contents.published);
    records.save(scheme, { ...own, name }, { publishedAt: contents.publishedAt, provenance });
  }

  /**
   * Verifies an image's signature against its registry entry. In the mode `enabled`, throws `forbidden` unless the
   * signature is verified. Otherwise only records the result.
   */
  async inspectImage(
    { image }: ImageSource,
    { mode, policy }: { mode: ImageVerification; policy: ImagePolicy | undefined },
    call: InspectionCall,
  ): Promise<void> {
    if (mode === 'disabled') return;
    const pinned = pinnedImage(image);
    const provenance = await this.#imageProvenance(pinned, policy, call);
    if (pinned !== undefined) {
      const { records } = this.#options;
      const artifact = { name: imageName(pinned), version: pinned.digest, integrity: pinned.digest };
      records.pin('image', [artifact]);
      records.save('image', artifact, { provenance });
    }
    if (mode !== 'enabled' || provenance.status === 'verified') return;
    throw forbidden(`the signature of the image ${image} is not verified: ${provenance.reason}`, {
      hint: 'use an image with signature requirements in its registry entry. To run this image anyway, omit image_verification (--image-verification)',
    });
  }

  async #imageProvenance(
    image: PinnedImage | undefined,
    policy: ImagePolicy | undefined,
    { report, signal }: InspectionCall,
  ): Promise<Provenance> {
    if (image === undefined) return { status: 'absent', reason: 'the image was built on this machine' };
    if (!policy?.repository_uri && !policy?.signer_identity) {
      return { status: 'absent', reason: 'no registry entry names the signer' };
    }
    const { sigstore_url: host = PUBLIC_SIGSTORE } = policy;
    if (host !== PUBLIC_SIGSTORE) {
      return { status: 'unknown', reason: `the trusted keys of ${host} are not supported` };
    }
    report(`verifying the signature of ${imageName(image)}`);
    const { readRoot, certificates, env } = this.#options;
    try {
      const { imageProvenance } = await import('./image-signatures.ts');
      return await imageProvenance(image, policy, {
        signal,
        certificates: await certificates(),
        readRoot,
        env,
      });
    } catch (error) {
      return unknownFor(error);
    }
  }

  /** Looks up where a package was built, and stores nothing. Undefined if its ecosystem has no attestations. */
  async lookUp(
    { scheme }: PackageSource,
    { registry, artifacts: [own] }: PackageContents,
    { signal }: Pick<InspectionCall, 'signal'>,
  ): Promise<Provenance | undefined> {
    const { readRoot, certificates, env } = this.#options;
    const load = lookups[scheme];
    if (load === undefined) return undefined;
    try {
      const request = { signal, certificates: await certificates(), readRoot, env };
      const lookup = await load();
      return await lookup({ registry, artifact: own }, request);
    } catch (error) {
      return unknownFor(error);
    }
  }

  /** The recorded facts about a workload's package. */
  find(source: ServerSource): PackageRecord | undefined {
    if (source.kind === 'image') {
      const pinned = pinnedImage(source.image);
      return pinned && this.#options.records.find('image', imageName(pinned), pinned.digest);
    }
    if (source.kind === 'bundle' || source.version === undefined || isLocalPath(source)) return undefined;
    return this.#options.records.find(source.scheme, source.name, source.version);
  }

  /** Throws `forbidden` if a package was built from another repository than its registry entry names. */
  requireRepository(source: ServerSource, repository: string | undefined): void {
    const proven = this.find(source)?.provenance?.repository;
    if (source.kind !== 'package' || proven === undefined || repository === undefined) return;
    if (isSameRepository(proven, repository)) return;
    throw forbidden(
      `package ${source.name} ${source.version} was built from ${proven}, but its registry entry names ${repository}`,
      { hint: 'if the entry is outdated, correct its repository_url. Otherwise, do not run the package' },
    );
  }

  /** What the user should know, because an earlier version on this machine proved more. */
  warningsOf(source: ServerSource): string[] {
    const record = this.find(source);
    if (record === undefined) return [];
    if (source.kind === 'image') {
      const { status, reason } = record.provenance ?? {};
      return status === 'failed' ? [`WARNING: the signature of its image is wrong: ${reason}`] : [];
    }
    return source.kind === 'package' ? this.compare(source, record.provenance) : [];
  }

  /** The same for provenance that is not stored. */
  compare({ scheme, name, version = '' }: PackageSource, provenance: Provenance | undefined): string[] {
    if (provenance?.status === 'failed') return [];
    const before = this.#options.records.otherProvenance(scheme, name, version)?.repository;
    const now = provenance?.repository;
    if (before === undefined || before === now) return [];
    return [
      now === undefined
        ? `WARNING: nothing proves where ${name} ${version} was built, but another version was built from ${before}`
        : `WARNING: ${name} ${version} was built from ${now}, but another version was built from ${before}`,
    ];
  }

  /** Warns of a version that could not be installed, because its content has changed. */
  changedIn(source: PackageSource, contents: PackageContents | undefined): string[] {
    const change = contents && this.#changeIn(source, contents);
    return change === undefined ? [] : [`WARNING: this version is not installed: ${change}`];
  }

  #changeIn({ scheme }: PackageSource, { artifacts, published }: PackageContents): string | undefined {
    const known = artifacts.filter(({ integrity }) => integrity !== '');
    const changed = this.#options.records.changed(scheme, known, published);
    if (changed === undefined) return undefined;
    const { artifact, before } = changed;
    const what = artifact.file === undefined ? '' : ` (${artifact.file})`;
    return `package ${artifact.name} ${artifact.version}${what} has changed since its first installation: the hash was ${before} and is now ${artifact.integrity}`;
  }

  [Symbol.dispose](): void {
    this.#options.records[Symbol.dispose]();
  }
}

const imageName = ({ host, repository }: PinnedImage): string => `${host}/${repository}`;

/** For a registry that cannot be asked. Throws everything else. */
function unknownFor(error: unknown): Provenance {
  if (!(error instanceof ThvError) || error.kind === 'cancelled') throw error;
  return { status: 'unknown', reason: error.message };
}

function refusal({ name }: PackageSource, version: string, { reason }: Provenance): ThvError {
  return forbidden(`the provenance of package ${name} ${version} is wrong: ${reason}`, {
    hint: "do not run this version. Use another version, or report the problem to the package's author",
  });
}
