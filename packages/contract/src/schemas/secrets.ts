import * as z from 'zod';

/** Where secrets are kept. */
export const SecretsProviderType = z.enum(['encrypted', '1password', 'none', 'environment']).meta({
  id: 'SecretsProviderType',
  description:
    'Where secrets are kept: in an encrypted file of ToolHive, in 1Password, nowhere, or in environment variables of the daemon.',
  examples: ['encrypted'],
});
export type SecretsProviderType = z.infer<typeof SecretsProviderType>;

/** What a secret may be called. Commas would end the name where it is written as `NAME,target=VARIABLE`. */
export const SecretName = z
  .string()
  .min(1, 'a secret needs a name')
  .max(256, 'the name of a secret has at most 256 characters')
  .regex(/^[^,\p{Cc}]*$/u, 'the name of a secret has no commas and no control characters')
  .meta({ description: 'Unique among the secrets.', examples: ['github-token'] });

/** What a secret may be. No value may hold a NUL, which no environment variable could. */
export const SecretValue = z
  .string()
  .min(1, 'a secret needs a value')
  .refine((value) => !value.includes('\0'), 'the value of a secret has no NUL character')
  .refine(isSmall, 'the value of a secret has at most 64 KiB')
  .meta({ description: 'Never given back by the API.', examples: ['correct horse battery staple'] });

const maxValueBytes = 64 * 1024;

function isSmall(value: string): boolean {
  return value.length <= maxValueBytes && new TextEncoder().encode(value).length <= maxValueBytes;
}

export const SecretKey = z
  .object({
    key: z.string().meta({ description: 'The name of the secret.' }),
    description: z.string().optional().meta({ description: 'What it is, where its keeper can tell.' }),
  })
  .meta({
    id: 'SecretKey',
    description: 'A secret that is there, without its value.',
    examples: [{ key: 'github-token' }],
  });
export type SecretKey = z.infer<typeof SecretKey>;

export const SecretKeys = z.object({ keys: z.array(SecretKey) }).meta({
  id: 'SecretKeys',
  description: 'All secrets, without their values.',
  examples: [{ keys: [{ key: 'github-token' }, { key: 'weather-api-key' }] }],
});
export type SecretKeys = z.infer<typeof SecretKeys>;

/** So many characters a new password of the secrets has at least. Those that are there already may be shorter. */
export const shortestPassword = 8;

const Password = z
  .string()
  .min(1, 'a password has at least one character')
  .max(1024, 'a password has at most 1024 characters');

export const SetupSecrets = z
  .object({
    provider_type: SecretsProviderType,
    password: Password.optional().meta({
      description: `The password of the encrypted file, which has to be the right one. It becomes that of a file without one, and of a new file, and has at least ${shortestPassword} characters then. Needed where the system has no keyring.`,
    }),
    new_password: Password.optional().meta({
      description: `Replaces the password of the encrypted file, if that is open or \`password\` opens it. At least ${shortestPassword} characters.`,
    }),
  })
  .meta({
    id: 'SetupSecrets',
    description: 'Where to keep secrets from now on. What was stored stays stored.',
    examples: [{ provider_type: 'encrypted' }],
  });
export type SetupSecrets = z.infer<typeof SetupSecrets>;

export const SetupSecretsResult = z
  .object({
    provider_type: SecretsProviderType,
    message: z.string().meta({ description: 'What was done, for a person.' }),
  })
  .meta({
    id: 'SetupSecretsResult',
    description: 'What became of a setup.',
    examples: [{ provider_type: 'encrypted', message: 'secrets are kept in an encrypted file' }],
  });
export type SetupSecretsResult = z.infer<typeof SetupSecretsResult>;

export const SecretsCapabilities = z
  .object({
    can_read: z.boolean(),
    can_write: z.boolean(),
    can_delete: z.boolean(),
    can_list: z.boolean(),
    can_cleanup: z.boolean().meta({ description: 'All secrets can be deleted at once.' }),
  })
  .meta({
    id: 'SecretsCapabilities',
    description: 'What can be done with the secrets of a provider.',
    examples: [{ can_read: true, can_write: false, can_delete: false, can_list: true, can_cleanup: false }],
  });
export type SecretsCapabilities = z.infer<typeof SecretsCapabilities>;

export const SecretsProvider = z
  .object({
    name: z.literal('default'),
    provider_type: SecretsProviderType,
    capabilities: SecretsCapabilities,
    locked: z.boolean().meta({ description: 'Nothing can be read before its password is given.' }),
    has_password: z.boolean().meta({
      description: 'There is an encrypted file that a password opens, whether it is used or not.',
    }),
  })
  .meta({
    id: 'SecretsProvider',
    description: 'Where secrets are kept, and what can be done there.',
    examples: [
      {
        name: 'default',
        provider_type: 'encrypted',
        capabilities: {
          can_read: true,
          can_write: true,
          can_delete: true,
          can_list: true,
          can_cleanup: true,
        },
        locked: false,
        has_password: true,
      },
    ],
  });
export type SecretsProvider = z.infer<typeof SecretsProvider>;

export const SecretWithValue = z.object({ key: z.string(), value: z.string() }).meta({
  id: 'SecretWithValue',
  description: 'A secret and its value.',
  examples: [{ key: 'github-token', value: 'correct horse battery staple' }],
});

export const CreateSecret = z.object({ key: SecretName, value: SecretValue }).meta({
  id: 'CreateSecret',
  description: 'A secret to store.',
  examples: [{ key: 'github-token', value: 'correct horse battery staple' }],
});
export type CreateSecret = z.infer<typeof CreateSecret>;

export const UpdateSecret = z.object({ value: SecretValue }).meta({
  id: 'UpdateSecret',
  description: 'The new value of a secret.',
  examples: [{ value: 'correct horse battery staple' }],
});
export type UpdateSecret = z.infer<typeof UpdateSecret>;

const StoredSecret = z.object({
  key: z.string(),
  message: z.string().meta({ description: 'What was done, for a person.' }),
});

export const CreatedSecret = StoredSecret.meta({
  id: 'CreatedSecret',
  description: 'A secret that was stored.',
  examples: [{ key: 'github-token', message: 'secret github-token is stored' }],
});
export type CreatedSecret = z.infer<typeof CreatedSecret>;

export const UpdatedSecret = StoredSecret.meta({
  id: 'UpdatedSecret',
  description: 'A secret that has a new value.',
  examples: [{ key: 'github-token', message: 'secret github-token has a new value' }],
});
export type UpdatedSecret = z.infer<typeof UpdatedSecret>;
