import * as z from 'zod';

/** The original's namespace in the publisher's metadata. */
const originalNamespace = 'io.github.stacklok';

const shared = {
  status: z.string().optional().catch(undefined),
  tier: z.unknown(),
  tools: z.unknown(),
  tags: z.unknown(),
  metadata: z.unknown(),
  custom_metadata: z.record(z.string(), z.unknown()).optional().catch(undefined),
};
const Local = z
  .object({
    ...shared,
    permissions: z.unknown(),
    provenance: z.unknown(),
    docker_tags: z.unknown(),
    args: z.unknown(),
  })
  .partial();
const Remote = z.object({ ...shared, oauth_config: z.unknown(), env_vars: z.unknown() }).partial();
type Local = z.infer<typeof Local>;
type Remote = z.infer<typeof Remote>;

/** What the original's registries say about a server, in this product's terms. */
export interface OriginalExtensions {
  /** About the server in an image. */
  local: (image: string) => Local;
  /** About the server at a URL. */
  remote: (url: string) => Remote;
}

/**
 * The original's extensions in a publisher's metadata, by image reference or URL. The server's other packages are not
 * meant: a provenance or permissions for an image say nothing about them.
 */
export function originalExtensionsIn(publisherMetadata: unknown): OriginalExtensions {
  const { data } = z
    .object({ [originalNamespace]: z.record(z.string(), z.unknown()) })
    .safeParse(publisherMetadata);
  const extensions = new Map(Object.entries(data?.[originalNamespace] ?? {}));
  return {
    local: (image) => Local.safeParse(extensions.get(image)).data ?? {},
    remote: (url) => Remote.safeParse(extensions.get(url)).data ?? {},
  };
}
