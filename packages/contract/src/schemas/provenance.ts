import * as z from 'zod';

/** Where a server was built, as far as that is proven. */
export const Provenance = z
  .object({
    status: z.enum(['verified', 'absent', 'failed', 'unknown']).meta({
      description:
        'verified: a signed attestation proves where this content was built. absent: the package registry has no attestation. failed: an attestation is wrong. unknown: the attestation could not be looked up.',
    }),
    repository: z
      .string()
      .optional()
      .meta({ description: 'The source repository, as certified for the build.' }),
    workflow: z
      .string()
      .optional()
      .meta({ description: 'The workflow that built it, with its branch or tag.' }),
    commit: z.string().optional().meta({ description: 'The commit that was built.' }),
    issuer: z.string().optional().meta({ description: 'The service that identified the build.' }),
    signer: z.string().optional().meta({ description: 'The identity in the certificate of the signature.' }),
    reason: z.string().optional().meta({ description: 'Why nothing is proven.' }),
  })
  .meta({
    id: 'Provenance',
    description: 'Where the installed server was built, as far as that is proven.',
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
