import * as z from 'zod';

/** The effect of a missing or wrong signature of a container image. */
export const ImageVerification = z.enum(['warn', 'enabled', 'disabled']);
export type ImageVerification = z.infer<typeof ImageVerification>;

/** The verified origin of a server build. */
export const Provenance = z
  .object({
    status: z.enum(['verified', 'absent', 'failed', 'unknown']).meta({
      description:
        'verified: a signed attestation proves the origin of the build. absent: the package registry has no attestation. failed: an attestation is invalid. unknown: the attestation lookup failed.',
    }),
    repository: z
      .string()
      .optional()
      .meta({ description: 'The source repository, as certified for the build.' }),
    workflow: z
      .string()
      .optional()
      .meta({ description: 'The workflow of the build, with its branch or tag.' }),
    commit: z.string().optional().meta({ description: 'The commit of the build.' }),
    issuer: z.string().optional().meta({ description: 'The service that identified the build.' }),
    signer: z.string().optional().meta({ description: 'The identity in the certificate of the signature.' }),
    reason: z.string().optional().meta({ description: 'The reason why the origin is not verified.' }),
  })
  .meta({
    id: 'Provenance',
    description: 'The verified origin of the installed server.',
    examples: [
      {
        status: 'verified',
        repository: 'https://github.com/example/server',
        workflow: '.github/workflows/release.yml@refs/tags/v1.2.0',
        commit: '3f786850e387550fdab836ed7e6dc881de23001b',
        issuer: 'https://token.actions.githubusercontent.com',
      },
    ],
  });
export type Provenance = z.infer<typeof Provenance>;
