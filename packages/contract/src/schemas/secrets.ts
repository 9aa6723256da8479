import * as z from 'zod';

/** The secrets provider. */
export const SecretsProviderType = z.enum(['encrypted', '1password', 'none', 'environment']).meta({
  id: 'SecretsProviderType',
  description:
    'The secrets provider: an encrypted ToolHive file, 1Password, no storage, or variables in the environment of the daemon.',
  examples: ['encrypted'],
});
export type SecretsProviderType = z.infer<typeof SecretsProviderType>;

/** A secret name. A comma would end the name in `NAME,target=VARIABLE`. */
export const SecretName = z
  .string()
  .min(1, 'a secret needs a name')
  .max(256, 'a secret name has at most 256 characters')
  // Written out, because readers of the OpenAPI document in other languages know no `\p`.
  // oxlint-disable-next-line no-control-regex -- it excludes these
  .regex(/^[^,\u0000-\u001f\u007f-\u009f]*$/, 'a secret name has no commas and no control characters')
  .meta({ description: 'The unique secret name.', examples: ['github-token'] });

/** A secret value. Environment variables cannot contain NUL characters. */
export const SecretValue = z
  .string()
  .min(1, 'a secret needs a value')
  .refine((value) => !value.includes('\0'), 'a secret value has no NUL character')
  .refine(isSmall, 'a secret value has at most 64 KiB')
  .meta({
    description: 'The secret value, which the API never returns.',
    examples: ['correct horse battery staple'],
  });

const maxValueBytes = 64 * 1024;

function isSmall(value: string): boolean {
  return value.length <= maxValueBytes && new TextEncoder().encode(value).length <= maxValueBytes;
}

export const SecretKey = z
  .object({
    key: z.string().meta({ description: 'The secret name.' }),
    description: z.string().optional().meta({ description: 'The description from the provider, if any.' }),
  })
  .meta({
    id: 'SecretKey',
    description: 'A stored secret, without its value.',
    examples: [{ key: 'github-token' }],
  });
export type SecretKey = z.infer<typeof SecretKey>;

export const SecretKeys = z.object({ keys: z.array(SecretKey) }).meta({
  id: 'SecretKeys',
  description: 'All secrets, without their values.',
  examples: [{ keys: [{ key: 'github-token' }, { key: 'weather-api-key' }] }],
});
export type SecretKeys = z.infer<typeof SecretKeys>;

/** The minimum length of a new password. Existing passwords can be shorter. */
export const shortestPassword = 8;

const Password = z
  .string()
  .min(1, 'a password has at least one character')
  .max(1024, 'a password has at most 1024 characters');

export const SetupSecrets = z
  .object({
    provider_type: SecretsProviderType,
    password: Password.optional().meta({
      description: `The password of the encrypted file. For a new file, and for a file without a password, the new password of at least ${shortestPassword} characters. Required on systems without a keyring.`,
    }),
    new_password: Password.optional().meta({
      description: `The new password of the encrypted file, at least ${shortestPassword} characters. The file must be unlocked, or \`password\` must unlock the file.`,
    }),
    generate_password: z.boolean().optional().meta({
      description:
        'Generate the password of a new encrypted file on a system without a keyring, and store the password beside the file, readable by the user alone.',
    }),
  })
  .meta({
    id: 'SetupSecrets',
    description: 'The new secrets provider. Stored secrets are kept.',
    examples: [{ provider_type: 'encrypted' }],
  });
export type SetupSecrets = z.infer<typeof SetupSecrets>;

export const SetupSecretsResult = z
  .object({
    provider_type: SecretsProviderType,
    message: z.string().meta({ description: 'The result, for users.' }),
  })
  .meta({
    id: 'SetupSecretsResult',
    description: 'The result of a setup.',
    examples: [{ provider_type: 'encrypted', message: 'secrets are stored in an encrypted file' }],
  });
export type SetupSecretsResult = z.infer<typeof SetupSecretsResult>;

export const SecretsCapabilities = z
  .object({
    can_read: z.boolean(),
    can_write: z.boolean(),
    can_delete: z.boolean(),
    can_list: z.boolean(),
    can_cleanup: z.boolean().meta({ description: 'Whether all secrets can be deleted at once.' }),
  })
  .meta({
    id: 'SecretsCapabilities',
    description: 'The capabilities of a provider.',
    examples: [{ can_read: true, can_write: false, can_delete: false, can_list: true, can_cleanup: false }],
  });
export type SecretsCapabilities = z.infer<typeof SecretsCapabilities>;

export const SecretsProvider = z
  .object({
    name: z.literal('default'),
    provider_type: SecretsProviderType,
    capabilities: SecretsCapabilities,
    locked: z
      .boolean()
      .meta({ description: 'Whether the provider requires its password before secrets can be read.' }),
    has_password: z.boolean().meta({
      description: 'Whether an encrypted file with a password exists, in use or not.',
    }),
  })
  .meta({
    id: 'SecretsProvider',
    description: 'The secrets provider and its capabilities.',
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
  message: z.string().meta({ description: 'The result, for users.' }),
});

export const CreatedSecret = StoredSecret.meta({
  id: 'CreatedSecret',
  description: 'A stored secret.',
  examples: [{ key: 'github-token', message: 'secret github-token is stored' }],
});
export type CreatedSecret = z.infer<typeof CreatedSecret>;

export const UpdatedSecret = StoredSecret.meta({
  id: 'UpdatedSecret',
  description: 'An updated secret.',
  examples: [{ key: 'github-token', message: 'secret github-token has a new value' }],
});
export type UpdatedSecret = z.infer<typeof UpdatedSecret>;
